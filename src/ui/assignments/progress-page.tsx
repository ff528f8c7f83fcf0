import { Anchor, Button, Group, Stack, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { Link } from 'wouter'
import { call, pathWith } from '../api/client.ts'
import { useNames } from '../api/names.ts'
import type { ReviewProgress } from '../api/wire.ts'
import { type Bucket, bucketIndex, bucketName, bucketsOf, type TimeRange, windowsAt } from '../insights/window.ts'
import { useWindow, WindowSelect } from '../insights/window-select.tsx'
import { ShownText } from '../json/shown-text.tsx'
import { Counted } from '../parts/counted.tsx'
import { Empty } from '../parts/empty.tsx'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { count } from '../parts/format.ts'
import { NoProject } from '../parts/no-project.tsx'
import { useRefusal } from '../parts/scopes.tsx'
import { type Column, StackedTable } from '../parts/stacked-table.tsx'
import { TextLink } from '../parts/text-link.tsx'
import { usePageTitle } from '../parts/use-page-title.ts'
import { useProject } from '../session/project.ts'
import { AssignDialog } from './assign-dialog.tsx'
import classes from './progress-page.module.css'

type Person = ReviewProgress['people'][number]

/** What each person has reviewed, and what they have left to do. */
export function Page() {
  usePageTitle('Review progress')
  const project = useProject()
  const [days, chooseDays] = useWindow()
  const { current } = useMemo(() => windowsAt(Date.now(), days), [days])
  const { data, error, refetch } = useQuery({
    queryKey: ['review-progress', project, current],
    queryFn: ({ signal }) =>
      call<ReviewProgress>('/api/review-queue/progress', { query: { projectSlug: project, ...current }, signal }),
    enabled: project !== undefined,
  })
  const people = data?.people.toSorted(
    (left, right) => right.overdue - left.overdue || right.open - left.open || right.reviewed - left.reviewed,
  )
  const names = useNames((people ?? []).map(({ userId }) => userId))
  const mayAssign = useRefusal('manage', 'assign outputs') === null
  const [moved, setMoved] = useState<Person>()
  const nameOf = ({ userId }: Person) => names.get(userId) ?? userId
  return (
    <Stack gap="sm">
      <div>
        <Anchor component={Link} href={pathWith('/review', { project })} size="sm">
          Review
        </Anchor>
        <Group justify="space-between" gap="xs">
          <Title order={1}>Review progress</Title>
          <WindowSelect days={days} onChoose={chooseDays} />
        </Group>
        <Text size="sm" c="dimmed">
          What each person reviewed, by UTC day or week, and how many assigned outputs they have left.
        </Text>
      </div>
      {project === undefined && <NoProject />}
      {error && !data && <FaultAlert error={error} title="Couldn't load the progress" onRetry={refetch} />}
      {people?.length === 0 && (
        <Empty title="Nobody has reviewed or been assigned anything">
          To assign outputs, open the <TextLink href={pathWith('/review', { project })}>queue</TextLink> and select
          Assign.
        </Empty>
      )}
      {project !== undefined && people?.length !== 0 && !(error && !data) && (
        <StackedTable
          label="People"
          columns={columnsOf({ project, people, range: current, nameOf, onMove: mayAssign ? setMoved : undefined })}
          rows={people}
          keyOf={({ userId }) => userId}
        />
      )}
      {data?.openIsMinimum && (
        <Text size="sm" c="dimmed">
          The project has too many assignments to count them all, so these numbers are minimums.
        </Text>
      )}
      {moved && (
        <AssignDialog
          title={`Reassign ${nameOf(moved)}'s remaining outputs`}
          spans={{ filter: project === undefined ? {} : { projectSlug: project } }}
          from={{ userId: moved.userId, name: nameOf(moved) }}
          onClose={() => setMoved(undefined)}
        />
      )}
    </Stack>
  )
}

interface ColumnOptions {
  project: string
  people: readonly Person[] | undefined
  range: TimeRange
  nameOf: (person: Person) => string
  /** Undefined for users who may not assign anything. */
  onMove: ((person: Person) => void) | undefined
}

function columnsOf({ project, people = [], range, nameOf, onMove }: ColumnOptions): Column<Person>[] {
  const buckets = bucketsOf(range)
  const reviewedBy = new Map(people.map(person => [person, perBucket(person, buckets)]))
  const highest = Math.max(1, ...[...reviewedBy.values()].flat())
  const reviewedPath = ({ userId }: Person) =>
    pathWith('/spans', { project, reviewerId: userId, reviewedFrom: range.from, reviewedTo: range.to })
  const openPath = ({ userId }: Person) => pathWith('/spans', { project, assignee: userId })
  const columns: Column<Person>[] = [
    {
      label: 'Person',
      cell: person => (
        <Text size="sm" fw={600} dir="auto">
          <ShownText text={nameOf(person)} />
        </Text>
      ),
    },
    {
      label: 'Over time',
      cell: person => (
        <Bars counts={reviewedBy.get(person) ?? []} buckets={buckets} highest={highest} name={nameOf(person)} />
      ),
    },
    {
      label: 'Reviewed',
      isNarrow: true,
      cell: person => (
        <Counted
          value={person.reviewed}
          path={reviewedPath(person)}
          label={`${count(person.reviewed)} reviewed by ${nameOf(person)}`}
        />
      ),
    },
    {
      label: 'Open',
      isNarrow: true,
      cell: person => (
        <Counted
          value={person.open}
          path={openPath(person)}
          label={`${count(person.open)} open for ${nameOf(person)}`}
        />
      ),
    },
    {
      label: 'Overdue',
      isNarrow: true,
      cell: ({ overdue }) => (
        <Text span inherit c={overdue > 0 ? 'var(--negative)' : 'inherit'}>
          {count(overdue)}
        </Text>
      ),
    },
  ]
  if (!onMove) return columns
  return [
    ...columns,
    {
      label: 'Actions',
      isActions: true,
      cell: person =>
        person.open > 0 && (
          <Button
            size="compact-xs"
            variant="default"
            aria-label={`Reassign ${nameOf(person)}'s remaining outputs`}
            onClick={() => onMove(person)}
          >
            Reassign
          </Button>
        ),
    },
  ]
}

/** A person's reviews in each bucket. */
function perBucket({ days }: Person, buckets: readonly Bucket[]): number[] {
  const counts = buckets.map(() => 0)
  for (const { day, reviewed } of days) {
    const index = bucketIndex(buckets, day)
    counts[index] = (counts[index] ?? 0) + reviewed
  }
  return counts
}

interface BarsProps {
  counts: readonly number[]
  buckets: readonly Bucket[]
  /** The highest count, to which all bars are scaled. */
  highest: number
  name: string
}

/** A person's reviews over time: one bar for each day, or for each week if the period is long. */
function Bars({ counts, buckets, highest, name }: BarsProps) {
  const most = Math.max(0, ...counts)
  const busiest = most > 0 ? buckets[counts.indexOf(most)] : undefined
  const label = busiest ? `most on ${bucketName(busiest)} (${count(most)})` : 'none'
  return (
    <div role="img" aria-label={`Reviews by ${name} over time: ${label}`} className={classes.bars}>
      {buckets.map((bucket, index) => {
        const reviewed = counts[index] ?? 0
        return (
          <span
            key={bucket.from}
            title={`${bucketName(bucket)}: ${count(reviewed)}`}
            className={classes.bar}
            style={{ height: reviewed === 0 ? 1 : `${Math.max(8, (reviewed / highest) * 100)}%` }}
            data-none={reviewed === 0 || undefined}
          />
        )
      })}
    </div>
  )
}
