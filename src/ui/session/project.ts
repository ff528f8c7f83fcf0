import { useQuery } from '@tanstack/react-query'
import { useCallback, useEffect } from 'react'
import { useSearchParams } from 'wouter'
import { sessionQuery } from '../api/session.ts'
import { withParameters } from '../parts/parameters.ts'

const REMEMBERED = 'countersign.project'

/** Remembers the project for URLs that don't name one, in this tab and in new tabs. */
export function rememberProject(slug: string): void {
  sessionStorage.setItem(REMEMBERED, slug)
  localStorage.setItem(REMEMBERED, slug)
}

/** The project slug from the URL, or from the last visit in this tab or browser. */
export function useProjectHint(): string | undefined {
  const [parameters] = useSearchParams()
  return (
    parameters.get('project') ?? sessionStorage.getItem(REMEMBERED) ?? localStorage.getItem(REMEMBERED) ?? undefined
  )
}

/**
 * The slug of the current project: the one in the URL, the last one visited, or else the organization's first project.
 * Undefined if the organization has no projects. A page can use the slug to request its data before the session loads.
 */
export function useProject(): string | undefined {
  const hint = useProjectHint()
  const { data: session } = useQuery(sessionQuery)
  if (!session) return hint
  return session.projects.find(({ slug }) => slug === hint)?.slug ?? session.projects[0]?.slug
}

/** The current project's ID; undefined while loading, or if there is no project. */
export function useProjectId(): string | undefined {
  const slug = useProject()
  const { data: session } = useQuery(sessionQuery)
  return session?.projects.find(project => project.slug === slug)?.id
}

/** Switches to another project on the same page, and clears the URL's other parameters. */
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

/** Leaves a deleted project. Pages then show the organization's first project. */
export function useLeaveProject(): (slug: string) => void {
  const [, setParameters] = useSearchParams()
  return useCallback(
    (slug: string) => {
      for (const storage of [sessionStorage, localStorage]) {
        if (storage.getItem(REMEMBERED) === slug) storage.removeItem(REMEMBERED)
      }
      setParameters(
        parameters => (parameters.get('project') === slug ? withParameters({ project: null })(parameters) : parameters),
        { replace: true },
      )
    },
    [setParameters],
  )
}

/** If the URL names a different project or none, switches to the project that the page's content belongs to. */
export function useProjectOfPage(slug: string): void {
  const { data: session } = useQuery(sessionQuery)
  const project = useProject()
  const [, setParameters] = useSearchParams()
  const isOther = slug !== project && session?.projects.some(each => each.slug === slug) === true
  useEffect(() => {
    if (!isOther) return
    rememberProject(slug)
    setParameters(withParameters({ project: slug }), { replace: true })
  }, [slug, isOther, setParameters])
}
