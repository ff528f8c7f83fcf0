import { Skeleton } from '@mantine/core'
import { lazy, Suspense } from 'react'
import type { CodeDiffProps } from './code-diff.tsx'
import type { CodeEditorProps } from './code-editor.tsx'

/*
 * CodeMirror, loaded on first use. `loadCode` preloads it.
 */

const loadEditor = () => import('./code-editor.tsx')
const loadDiff = () => import('./code-diff.tsx')

const Editor = lazy(async () => ({ default: (await loadEditor()).CodeEditor }))
const Diff = lazy(async () => ({ default: (await loadDiff()).CodeDiff }))

/** Preloads the editor and the diff. */
export const loadCode = (): Promise<unknown> => Promise.all([loadEditor(), loadDiff()])

export const CodeEditor = (props: CodeEditorProps) => (
  <Suspense fallback={<Skeleton h={props.minHeight ?? '8rem'} />}>
    <Editor {...props} />
  </Suspense>
)

export const CodeDiff = (props: CodeDiffProps) => (
  <Suspense fallback={<Skeleton h="8rem" />}>
    <Diff {...props} />
  </Suspense>
)
