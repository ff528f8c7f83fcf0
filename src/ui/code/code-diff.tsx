import { MergeView, unifiedMergeView } from '@codemirror/merge'
import { EditorState } from '@codemirror/state'
import { EditorView } from '@codemirror/view'
import { useEffect, useRef } from 'react'
import { base, type CodeLanguage, reading } from './setup.ts'

export interface CodeDiffProps {
  before: string
  after: string
  /** The accessible name. */
  label: string
  language?: CodeLanguage
  /** `split` shows the strings side by side. `unified` shows them in one column, for tight spaces. */
  layout?: 'split' | 'unified'
}

/** If computing a diff takes longer, the diff is less precise. */
const DIFF_TIMEOUT_MS = 200

/** A read-only diff between two strings. Long unchanged parts are folded. */
export function CodeDiff({ before, after, label, language = 'json', layout = 'unified' }: CodeDiffProps) {
  const container = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const parent = container.current
    if (!parent) return
    const collapseUnchanged = { margin: 3, minSize: 8 }
    const diffConfig = { scanLimit: 1_000, timeout: DIFF_TIMEOUT_MS }
    const side = (name: string) => [base(language, `${label}: ${name}`), reading]
    const view =
      layout === 'split'
        ? new MergeView({
            parent,
            a: { doc: before, extensions: side('before') },
            b: { doc: after, extensions: side('after') },
            collapseUnchanged,
            diffConfig,
            gutter: true,
          })
        : new EditorView({
            parent,
            state: EditorState.create({
              doc: after,
              extensions: [
                side('before and after'),
                unifiedMergeView({
                  original: before,
                  mergeControls: false,
                  collapseUnchanged,
                  diffConfig,
                  gutter: true,
                }),
              ],
            }),
          })
    return () => view.destroy()
  }, [before, after, label, language, layout])
  return <div ref={container} />
}
