import { Group, Skeleton, Stack, Text, Title } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import { useSearchParams } from 'wouter'
import type { Problem } from '../api/wire.ts'
import { IconChevronLeft, IconChevronRight, IconKeyboard } from '../icons/index.ts'
import type { TimeRange } from '../insights/window.ts'
import { Expired } from '../parts/expired.tsx'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { count } from '../parts/format.ts'
import { IconButton } from '../parts/icon-button.tsx'
import { KeysHelp } from '../parts/keys-help.tsx'
import { withParameters } from '../parts/parameters.ts'
import { handle, useKeys } from '../parts/use-keys.ts'
import { Example } from './example.tsx'
import { PROBLEM_KEYS } from './keys.ts'
import classes from './problem-page.module.css'
import { examplesQuery } from './queries.ts'

interface ExamplesProps {
  problem: Problem
  project: string
  range: TimeRange
}

/** The outputs that a problem affects, one at a time. */
export function Examples({ problem, project, range }: ExamplesProps) {
  const [address, change] = useSearchParams()
  const [isHelpOpen, help] = useDisclosure()
  const { data, error, refetch, hasNextPage, isFetching, fetchNextPage } = useInfiniteQuery(
    examplesQuery(project, problem.id, range),
  )
  const examples = data?.pages.flatMap(page => page.spans)
  const index = Math.max(0, examples?.findIndex(({ id }) => id === address.get('example')) ?? 0)
  const shown = examples?.[index]
  const isNearEnd = examples !== undefined && index >= examples.length - 2
  useEffect(() => {
    if (isNearEnd && hasNextPage && !isFetching) fetchNextPage()
  }, [isNearEnd, hasNextPage, isFetching, fetchNextPage])
  const move = (by: 1 | -1) => {
    const next = examples?.[index + by]
    if (next) change(withParameters({ example: next.id }), { replace: true })
  }
  useKeys(PROBLEM_KEYS, {
    next: () => handle(() => move(1)),
    previous: () => handle(() => move(-1)),
    help: () => handle(help.open),
  })
  const expired = data?.pages[0]?.expired ?? 0
  return (
    <Stack gap="sm" component="section" aria-label="Examples" className={classes.examples}>
      <Group justify="space-between" gap="xs">
        <Title order={2}>
          Examples
          {shown && (
            <Text span size="sm" c="dimmed" fw={400} role="status">
              {' '}
              {count(index + 1)} of {count(problem.count - expired)}
            </Text>
          )}
        </Title>
        <Group gap={2} wrap="nowrap">
          <IconButton
            label="Previous example (K)"
            Icon={IconChevronLeft}
            disabled={index === 0}
            onClick={() => move(-1)}
          />
          <IconButton
            label="Next example (J)"
            Icon={IconChevronRight}
            disabled={examples === undefined || index >= examples.length - 1}
            onClick={() => move(1)}
          />
          <IconButton label="Keyboard shortcuts (?)" Icon={IconKeyboard} onClick={help.open} />
        </Group>
      </Group>
      {error && !data && <FaultAlert error={error} title="Couldn't load the examples" onRetry={refetch} />}
      {!error && !data && <Skeleton h={320} />}
      {examples?.length === 0 && !hasNextPage && (
        <Text size="sm" c="dimmed">
          No examples in this period.
        </Text>
      )}
      {shown && <Example key={shown.id} preview={shown} problem={problem} project={project} />}
      <Expired count={expired} one="output" many="outputs" />
      <KeysHelp shortcuts={PROBLEM_KEYS} isOpen={isHelpOpen} onClose={help.close} />
    </Stack>
  )
}
