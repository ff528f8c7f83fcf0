import { Group, Text, UnstyledButton } from '@mantine/core'
import { useId } from 'react'
import type { SavedView } from '../api/wire.ts'
import { IconTrash } from '../icons/index.ts'
import { ShownText } from '../json/shown-text.tsx'
import { IconButton } from '../parts/icon-button.tsx'
import classes from './views.module.css'

interface ViewListProps {
  views: readonly SavedView[]
  /** The view that the page shows. */
  currentId: string | undefined
  mayDelete: (view: SavedView) => boolean
  onChoose: (view: SavedView) => void
  onDelete: (view: SavedView) => void
}

/** The shared views, and then the user's own. */
export function ViewList({ views, ...act }: ViewListProps) {
  if (views.length === 0) {
    return (
      <Text size="xs" c="dimmed">
        No saved views yet.
      </Text>
    )
  }
  return (
    <div className={classes.lists}>
      <Section title="Shared with the project" views={views.filter(({ shared }) => shared)} {...act} />
      <Section title="Only you" views={views.filter(({ shared }) => !shared)} {...act} />
    </div>
  )
}

function Section({ title, views, currentId, mayDelete, onChoose, onDelete }: ViewListProps & { title: string }) {
  const titleId = useId()
  if (views.length === 0) return null
  return (
    <>
      <Text id={titleId} size="xs" fw={600} c="dimmed">
        {title}
      </Text>
      <ul aria-labelledby={titleId} className={classes.list}>
        {views.map(view => (
          <Group key={view.id} component="li" gap={2} wrap="nowrap">
            <UnstyledButton
              className={classes.view}
              dir="auto"
              {...(view.id === currentId && { 'aria-current': 'true' })}
              onClick={() => onChoose(view)}
            >
              <ShownText text={view.name} />
            </UnstyledButton>
            {mayDelete(view) && (
              <IconButton
                label={`Delete view ${view.name}`}
                Icon={IconTrash}
                iconSize={14}
                onClick={() => onDelete(view)}
              />
            )}
          </Group>
        ))}
      </ul>
    </>
  )
}
