import { EditorState } from '@codemirror/state'
import { EditorView } from '@codemirror/view'
import { useEffect, useRef } from 'react'
import { base, type CodeLanguage, editing } from './setup.ts'

export interface CodeEditorProps {
  value: string
  onChange: (value: string) => void
  /** The accessible name. */
  label: string
  language?: CodeLanguage
  autoFocus?: boolean
  /** CSS lengths. */
  minHeight?: string
  maxHeight?: string
}

/** A controlled CodeMirror editor. */
export function CodeEditor({
  value,
  onChange,
  label,
  language = 'json',
  autoFocus = false,
  minHeight = '8rem',
  maxHeight = '60vh',
}: CodeEditorProps) {
  const container = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView>(null)
  const onChangeNow = useRef(onChange)
  onChangeNow.current = onChange
  // biome-ignore lint/correctness/useExhaustiveDependencies: the effect below applies later values, so that the cursor stays in place
  useEffect(() => {
    if (!container.current) return
    const editor = new EditorView({
      parent: container.current,
      state: EditorState.create({
        doc: value,
        extensions: [
          base(language, label),
          editing(language),
          EditorView.theme({ '&': { minHeight, maxHeight }, '.cm-scroller': { overflow: 'auto' } }),
          EditorView.updateListener.of(({ docChanged, state }) => {
            if (docChanged) onChangeNow.current(state.doc.toString())
          }),
        ],
      }),
    })
    view.current = editor
    if (autoFocus) editor.focus()
    return () => editor.destroy()
  }, [language, label, autoFocus, minHeight, maxHeight])
  useEffect(() => {
    const editor = view.current
    if (!editor || editor.state.doc.toString() === value) return
    editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: value } })
  }, [value])
  return <div ref={container} />
}
