import { useQuery } from '@tanstack/react-query'
import { useCallback, useEffect } from 'react'
import { useSearchParams } from 'wouter'
import { sessionQuery } from '../api/session.ts'

const REMEMBERED = 'countersign.project'

/** Keeps a project for the addresses that name none: of this tab, and of those opened later. */
export function rememberProject(slug: string): void {
  sessionStorage.setItem(REMEMBERED, slug)
  localStorage.setItem(REMEMBERED, slug)
}

/** The slug of the project that the address, or else this tab's or this browser's last visit, names. */
export function useProjectHint(): string | undefined {
  const [parameters] = useSearchParams()
  return (
    parameters.get('project') ?? sessionStorage.getItem(REMEMBERED) ?? localStorage.getItem(REMEMBERED) ?? undefined
  )
}

/**
 * The slug of the project that is looked at: that of the address, or the last one, or the first. Undefined: the organization
 * has none. A page asks for its data by it without waiting for the session.
 */
export function useProject(): string | undefined {
  const hint = useProjectHint()
  const { data: session } = useQuery(sessionQuery)
  if (!session) return hint
  return session.projects.find(({ slug }) => slug === hint)?.slug ?? session.projects[0]?.slug
}

/** Goes to another project, on the same page without what was chosen there. */
export function useChooseProject(): (slug: string) => void {
  const [, setParameters] = useSearchParams()
  return useCallback(
    (slug: string) => {
      rememberProject(slug)
      setParameters({ project: slug })
    },
    [setParameters],
  )
}

/** Leaves a project that is no longer there: what looked at it looks at the first one. */
export function useLeaveProject(): (slug: string) => void {
  const [, setParameters] = useSearchParams()
  return useCallback(
    (slug: string) => {
      for (const storage of [sessionStorage, localStorage]) {
        if (storage.getItem(REMEMBERED) === slug) storage.removeItem(REMEMBERED)
      }
      setParameters(
        parameters => {
          const next = new URLSearchParams(parameters)
          if (next.get('project') === slug) next.delete('project')
          return next
        },
        { replace: true },
      )
    },
    [setParameters],
  )
}

/** The same parameters in another project. */
export const inProject =
  (slug: string) =>
  (parameters: URLSearchParams): URLSearchParams => {
    const next = new URLSearchParams(parameters)
    next.set('project', slug)
    return next
  }

/** Goes to the project of what a page shows, where its address named another one, or none. */
export function useProjectOfPage(slug: string): void {
  const { data: session } = useQuery(sessionQuery)
  const project = useProject()
  const [, setParameters] = useSearchParams()
  const isOther = slug !== project && session?.projects.some(each => each.slug === slug) === true
  useEffect(() => {
    if (!isOther) return
    rememberProject(slug)
    setParameters(inProject(slug), { replace: true })
  }, [slug, isOther, setParameters])
}
