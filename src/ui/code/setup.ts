import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { json, jsonParseLinter } from '@codemirror/lang-json'
import { bracketMatching, foldGutter, foldKeymap, HighlightStyle, syntaxHighlighting } from '@codemirror/language'
import { linter, lintGutter } from '@codemirror/lint'
import { highlightSelectionMatches, searchKeymap } from '@codemirror/search'
import { EditorState, type Extension } from '@codemirror/state'
import { EditorView, highlightSpecialChars, keymap, lineNumbers } from '@codemirror/view'
import { tags } from '@lezer/highlight'

export type CodeLanguage = 'json' | 'text'

const theme = EditorView.theme({
  '&': { fontSize: '12px', backgroundColor: 'var(--page)', color: 'var(--text)' },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '-2px' },
  '.cm-scroller': { fontFamily: 'var(--mantine-font-family-monospace)', lineHeight: '1.6' },
  '.cm-content': { caretColor: 'var(--text)' },
  '.cm-gutters': { backgroundColor: 'var(--panel)', color: 'var(--mantine-color-dimmed)', border: 'none' },
  '.cm-changedLine': { backgroundColor: 'var(--accepted-soft) !important' },
  '.cm-deletedChunk, .cm-deletedLine': { backgroundColor: 'var(--negative-soft) !important' },
  '.cm-changedText': { background: 'light-dark(#b5e3c4, #235a39) !important' },
  '.cm-deletedText, .cm-deletedLine .cm-changedText, &.cm-merge-a .cm-changedText': {
    background: 'light-dark(#fad6d3, #6b2f2c) !important',
  },
  '&.cm-merge-a .cm-changedLine': { backgroundColor: 'var(--negative-soft) !important' },
  '.cm-collapsedLines': { background: 'var(--panel)', color: 'var(--mantine-color-dimmed)' },
  // Many fonts lack the character that CodeMirror uses.
  '.cm-collapsedLines:before, .cm-collapsedLines:after': { content: '"⋯"' },
})

const highlight = HighlightStyle.define([
  { tag: tags.propertyName, color: 'light-dark(#23508c, #9dbcf2)' },
  { tag: tags.string, color: 'light-dark(#1d6b3a, #8fd3a8)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'light-dark(#8a4b00, #efb776)' },
])

/** Shows invisible and bidirectional control characters, which can make one string look like another. */
const visibleMarks = highlightSpecialChars({ addSpecialChars: /[\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g })

/** The extensions for every editor and diff. `label` is the accessible name. */
export const base = (language: CodeLanguage, label: string): Extension[] => [
  theme,
  syntaxHighlighting(highlight),
  visibleMarks,
  EditorView.lineWrapping,
  EditorView.contentAttributes.of({ 'aria-label': label, tabindex: '0' }),
  lineNumbers(),
  highlightSelectionMatches(),
  keymap.of([...searchKeymap, ...foldKeymap]),
  ...(language === 'json' ? [json(), foldGutter()] : []),
]

/** The extensions for editors. Tab moves focus, as it does elsewhere on the page. */
export const editing = (language: CodeLanguage): Extension[] => [
  history(),
  bracketMatching(),
  keymap.of([...defaultKeymap, ...historyKeymap]),
  ...(language === 'json' ? [linter(jsonParseLinter(), { delay: 200 }), lintGutter()] : []),
]

export const reading: Extension[] = [EditorState.readOnly.of(true)]
