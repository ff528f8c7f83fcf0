import { Button, Popover, Stack } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useSearchParams } from 'wouter'
import { sessionQuery } from '../api/session.ts'
import type { SavedView } from '../api/wire.ts'
import { IconBookmark } from '../icons/index.ts'
import { ShownText } from '../json/shown-text.tsx'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { useProject } from '../session/project.ts'
import { DeleteView } from './delete-view.tsx'
import { type ViewPage, viewsQuery } from './queries.ts'
import { SaveView } from './save-view.tsx'
import { ViewList } from './view-list.tsx'
import classes from './views.module.css'

export interface ViewsMenuProps {
  page: ViewPage
  /** The filters in a URL. Equal filters give equal strings. */
  queryOf: (address: URLSearchParams) => string
  /** A URL without filters. */
  withoutFilters: (address: URLSearchParams) => URLSearchParams
}

/**
 * A page's saved views. Choosing one sets its filters in the URL, and the button shows the name of the view in the URL.
 * The views are loaded when the menu opens, unless the page has loaded them already.
 */
export function ViewsMenu({ page, queryOf, withoutFilters }: ViewsMenuProps) {
  const project = useProject()
  const [address, setAddress] = useSearchParams()
  const { data: session } = useQuery(sessionQuery)
  const [isOpen, setOpen] = useState(false)
  const { data: views, error, refetch } = useQuery({ ...viewsQuery(project, page), enabled: isOpen })
  const [deleted, setDeleted] = useState<SavedView | null>(null)
  if (project === undefined) return null
  const filters = queryOf(address)
  // Other parameters in a view could switch the project.
  const filtersOf = ({ query }: SavedView) => queryOf(new URLSearchParams(query))
  const current = filters === '' ? undefined : views?.find(view => filtersOf(view) === filters)
  const may = (scope: 'review' | 'manage') => session?.scopes.includes(scope) === true
  const choose = (view: SavedView) => {
    setOpen(false)
    setAddress(before => new URLSearchParams([...withoutFilters(before), ...new URLSearchParams(filtersOf(view))]))
  }
  const isOwn = ({ ownerId }: SavedView) => ownerId === session?.actorId
  return (
    <>
      <Popover
        opened={isOpen}
        onChange={setOpen}
        position="bottom-end"
        width={280}
        shadow="md"
        trapFocus
        returnFocus
        transitionProps={{ duration: 0 }}
      >
        <Popover.Target>
          <Button
            size="compact-sm"
            variant="default"
            maw={240}
            leftSection={<IconBookmark size={14} aria-hidden />}
            onClick={() => setOpen(!isOpen)}
          >
            {current === undefined ? (
              'Views'
            ) : (
              <span className={classes.name} dir="auto">
                <ShownText text={current.name} />
              </span>
            )}
          </Button>
        </Popover.Target>
        <Popover.Dropdown p="xs" maw="92vw">
          <Stack gap="xs">
            {error && !views && <FaultAlert error={error} title="Couldn't load the views" onRetry={refetch} />}
            {views && (
              <ViewList
                views={views}
                currentId={current?.id}
                mayDelete={view => (isOwn(view) ? may('review') || may('manage') : may('manage'))}
                onChoose={choose}
                onDelete={view => {
                  setOpen(false)
                  setDeleted(view)
                }}
              />
            )}
            {(may('review') || may('manage')) && (
              <SaveView
                project={project}
                page={page}
                query={filters}
                taken={views?.filter(isOwn).map(({ name }) => name) ?? []}
                onSaved={() => setOpen(false)}
              />
            )}
          </Stack>
        </Popover.Dropdown>
      </Popover>
      {deleted && <DeleteView view={deleted} onClose={() => setDeleted(null)} />}
    </>
  )
}
