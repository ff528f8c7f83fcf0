import { ActionIcon, Button, Checkbox, Group, Popover, VisuallyHidden } from '@mantine/core'
import { useState } from 'react'
import { IconArrowUp } from '../icons/index.ts'
import { COLUMNS, type ColumnId, columnOf, isColumn } from './columns.tsx'
import { ColumnsButton } from './columns-button.tsx'
import classes from './trace-table.module.css'
import type { useColumns } from './use-columns.ts'

/** Chooses the table's columns and their order. */
export function ColumnsMenu({ columns, isChosen, choose, reset }: ReturnType<typeof useColumns>) {
  const [moved, setMoved] = useState('')
  const hidden = Object.keys(COLUMNS)
    .filter(isColumn)
    .filter(id => !columns.includes(id))
  const toggle = (id: ColumnId) => choose(columns.includes(id) ? columns.filter(each => each !== id) : [...columns, id])
  const move = (id: ColumnId, step: 1 | -1) => {
    const from = columns.indexOf(id)
    const to = from + step
    if (to < 0 || to >= columns.length) return
    choose(columns.toSpliced(from, 1).toSpliced(to, 0, id))
    setMoved(`${columnOf(id).label} is column ${to + 1} of ${columns.length}`)
  }
  return (
    <Popover position="bottom-end" shadow="md" trapFocus returnFocus transitionProps={{ duration: 0 }}>
      <Popover.Target>
        <ColumnsButton />
      </Popover.Target>
      <Popover.Dropdown p="xs">
        <ul className={classes.choices}>
          {[...columns, ...hidden].map(id => {
            const { label } = columnOf(id)
            const isShown = columns.includes(id)
            return (
              <li key={id}>
                <Checkbox
                  size="xs"
                  label={label}
                  checked={isShown}
                  // The name links to the trace.
                  disabled={id === 'name'}
                  onChange={() => toggle(id)}
                />
                {isShown && (
                  <Group gap={2}>
                    {([-1, 1] as const).map(step => (
                      <ActionIcon
                        key={step}
                        size="sm"
                        variant="subtle"
                        aria-label={`Move ${label} ${step < 0 ? 'up' : 'down'}`}
                        onClick={({ currentTarget }) => {
                          move(id, step)
                          // A moved element loses focus.
                          requestAnimationFrame(() => currentTarget.focus())
                        }}
                      >
                        <IconArrowUp size={14} className={step > 0 ? classes.down : undefined} aria-hidden />
                      </ActionIcon>
                    ))}
                  </Group>
                )}
              </li>
            )
          })}
        </ul>
        <VisuallyHidden role="status">{moved}</VisuallyHidden>
        <Button size="compact-xs" variant="subtle" disabled={!isChosen} onClick={reset}>
          Reset to default
        </Button>
      </Popover.Dropdown>
    </Popover>
  )
}
