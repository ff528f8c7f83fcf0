import { CloseButton, Group, Text, TextInput } from '@mantine/core'
import { memo, type ReactNode, useId } from 'react'
import { IconFoldDown, IconFoldUp, IconSearch } from '../icons/index.ts'
import { count, counted, duration } from '../parts/format.ts'
import { IconButton } from '../parts/icon-button.tsx'
import { SpanLine } from './span-line.tsx'
import classes from './span-list.module.css'
import { type SpanListOptions, useSpanList } from './use-span-list.ts'

interface SpanListProps extends SpanListOptions {
  /** The IDs of spans with feedback. */
  withFeedback: ReadonlySet<string>
  /** Shown below the list. */
  more: ReactNode
}

interface PartProps {
  list: ReturnType<typeof useSpanList>
  tree: SpanListProps['tree']
}

/** A trace's spans: a tree with a timeline. Only the visible lines are in the page. */
export const SpanList = memo(function SpanList({ withFeedback, more, ...options }: SpanListProps) {
  const { tree, chosenId } = options
  const list = useSpanList(options)
  return (
    <section className={classes.frame} aria-label="Spans">
      <Tools list={list} tree={tree} />
      <Ruler length={tree.length} />
      <Lines list={list} tree={tree} chosenId={chosenId} withFeedback={withFeedback} />
      {more}
    </section>
  )
})

const Tools = ({ list: { typed, type, found, foldAll, unfoldAll }, tree }: PartProps) => (
  <Group gap="xs" wrap="nowrap" className={classes.tools}>
    <TextInput
      size="xs"
      flex={1}
      aria-label="Find steps"
      placeholder="Step, status, or kind…"
      leftSection={<IconSearch size={14} aria-hidden />}
      value={typed}
      onChange={({ currentTarget }) => type(currentTarget.value)}
      rightSection={typed !== '' && <CloseButton size="xs" aria-label="Clear search" onClick={() => type('')} />}
    />
    <Text size="xs" c="dimmed" role="status" className={classes.count}>
      {found ? `${count(found.matches.size)} of ${count(tree.rows.length)}` : counted(tree.rows.length, 'span')}
    </Text>
    <IconButton label="Collapse all" Icon={IconFoldUp} onClick={foldAll} disabled={!!found} />
    <IconButton label="Expand all" Icon={IconFoldDown} onClick={unfoldAll} disabled={!!found} />
  </Group>
)

const TICKS = [0, 0.25, 0.5, 0.75, 1]

const Ruler = ({ length }: { length: number }) => (
  <div className={classes.ruler} aria-hidden>
    <span>Step</span>
    <div className={classes.ticks}>
      {TICKS.map(tick => (
        <span key={tick} style={tick === 1 ? { right: 0 } : { left: `${tick * 100}%` }}>
          {duration(tick * length)}
        </span>
      ))}
    </div>
  </div>
)

type LinesProps = PartProps & Pick<SpanListProps, 'chosenId' | 'withFeedback'>

function Lines({ list, tree, chosenId, withFeedback }: LinesProps) {
  const { container, rows, items, height, found, activeId, isActiveShown, isFolded, fold, open, press } = list
  const treeId = useId()
  return (
    <div
      ref={container}
      role="tree"
      tabIndex={0}
      aria-label="Spans"
      aria-activedescendant={isActiveShown ? `${treeId}${activeId}` : undefined}
      className={classes.scroll}
      onKeyDown={event => {
        if (event.altKey || event.ctrlKey || event.metaKey) return
        if (event.key === 'Enter' || event.key === ' ') {
          if (activeId !== undefined) open(activeId)
        } else if (!press(event.key)) return
        event.preventDefault()
      }}
      onClick={({ target }) => {
        if (!(target instanceof Element)) return
        const line = target.closest<HTMLElement>('[data-index]')
        const row = line && rows[Number(line.dataset.index)]
        if (!row) return
        const { id } = row.span
        if (target.closest('[data-fold]')) fold(id, !isFolded(id))
        else open(id)
      }}
    >
      <div role="presentation" className={classes.lines} style={{ height }}>
        {items.map(({ index, key }) => {
          const row = rows[index]
          if (!row) return null
          const { id, review } = row.span
          const reviewed = tree.rows[tree.indexOf.get(review.reviewedBy ?? '') ?? -1]
          return (
            <SpanLine
              key={key}
              id={`${treeId}${id}`}
              row={row}
              reviewedAt={reviewed?.span.stepId}
              index={index}
              isFolded={isFolded(id)}
              isChosen={id === chosenId}
              isActive={id === activeId}
              isAncestorOfMatch={found !== undefined && !found.matches.has(id)}
              hasFeedback={withFeedback.has(id)}
              length={tree.length}
            />
          )
        })}
      </div>
      {rows.length === 0 && (
        <Text size="sm" c="dimmed" p="md">
          No matching steps.
        </Text>
      )}
    </div>
  )
}
