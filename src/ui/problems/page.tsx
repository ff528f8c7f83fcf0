import { Group, Skeleton, Stack, Text, Title } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useId, useRef } from 'react'
import { useSearchParams } from 'wouter'
import { pathWith } from '../api/client.ts'
import { useNames } from '../api/names.ts'
import type { Problem } from '../api/wire.ts'
import { IconKeyboard } from '../icons/index.ts'
import { type WindowDays, windowsAt } from '../insights/window.ts'
import { useWindow, WindowSelect } from '../insights/window-select.tsx'
import { Empty } from '../parts/empty.tsx'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { IconButton } from '../parts/icon-button.tsx'
import { KeysHelp } from '../parts/keys-help.tsx'
import { NoProject } from '../parts/no-project.tsx'
import { ShowMore } from '../parts/show-more.tsx'
import { TextLink } from '../parts/text-link.tsx'
import { handle, useKeys } from '../parts/use-keys.ts'
import { usePageTitle } from '../parts/use-page-title.ts'
import { useErrorTypes } from '../session/error-type-names.ts'
import { useProject } from '../session/project.ts'
import { BOARD_KEYS } from './keys.ts'
import { ProblemRow } from './problem-row.tsx'
import classes from './problems.module.css'
import { problemsQuery } from './queries.ts'
import { StateFilter } from './state-filter.tsx'
import type { ProblemState } from './states.tsx'
import { isState, MEANINGS, NONE_IN, stateName } from './states.tsx'

/** Problems that somebody is working on come first, because a project usually has more open ones. */
const GROUPS = ['proven', 'fixing', 'live', 'open', 'verified', 'dismissed'] as const

/** A project's problems: which errors affect the most outputs, and how far each fix has progressed. */
export function Page() {
  usePageTitle('Problems')
  const project = useProject()
  const [address] = useSearchParams()
  const named = address.get('state')
  const state = isState(named) ? named : null
  const [days, chooseDays] = useWindow()
  const [isHelpOpen, help] = useDisclosure()
  const lists = useRef<HTMLDivElement>(null)
  const query = useInfiniteQuery(problemsQuery(project, windowsAt(Date.now(), days).current, state))
  // Requested together with the problems.
  useErrorTypes()
  const problems = query.data?.pages.flatMap(page => page.problems)
  const names = useNames((problems ?? []).map(({ assignee }) => assignee))
  const move = (by: 1 | -1) => moveFocus(lists.current, by)
  useKeys(BOARD_KEYS, {
    next: () => handle(() => move(1)),
    previous: () => handle(() => move(-1)),
    help: () => handle(help.open),
  })
  return (
    <Stack gap="sm" maw={1100}>
      <Group justify="space-between" align="start" gap="xs">
        <div>
          <Title order={1}>Problems</Title>
          <Text size="sm" c="dimmed">
            Wrong outputs with the same cause, from the first correction to a fix that holds.
          </Text>
        </div>
        <Group gap="xs" wrap="nowrap">
          <WindowSelect days={days} onChoose={chooseDays} />
          <IconButton label="Keyboard shortcuts (?)" Icon={IconKeyboard} onClick={help.open} />
        </Group>
      </Group>
      {project === undefined ? <NoProject /> : <StateFilter chosen={state} />}
      {query.error && !query.data && (
        <FaultAlert error={query.error} title="Couldn't load the problems" onRetry={query.refetch} />
      )}
      {query.isPending && project !== undefined && !query.error && <Expected />}
      {project !== undefined && problems?.length === 0 && !query.hasNextPage && (
        <NoProblems state={state} days={days} project={project} />
      )}
      {project !== undefined && problems && (
        <div ref={lists} data-old={query.isPlaceholderData || undefined} className={classes.groups}>
          {GROUPS.map(each => (
            <StateGroup
              key={each}
              state={each}
              problems={problems.filter(problem => problem.state === each)}
              project={project}
              days={days}
              names={names}
            />
          ))}
        </div>
      )}
      <ShowMore query={query} />
      <KeysHelp shortcuts={BOARD_KEYS} isOpen={isHelpOpen} onClose={help.close} />
    </Stack>
  )
}

/** Moves focus to the link of the next problem, or the previous one (-1). */
function moveFocus(list: HTMLElement | null, by: 1 | -1): void {
  const links = [...(list?.querySelectorAll<HTMLElement>('a[data-problem]') ?? [])]
  const current = document.activeElement?.closest('li')
  const index = links.findIndex(link => link.closest('li') === current)
  links[index === -1 ? 0 : Math.min(Math.max(index + by, 0), links.length - 1)]?.focus()
}

interface StateGroupProps {
  state: ProblemState
  problems: readonly Problem[]
  project: string
  days: WindowDays
  /** People's names, by ID. */
  names: ReadonlyMap<string, string>
}

/** The problems in a state, starting with the one that has the most cases. */
function StateGroup({ state, problems, project, days, names }: StateGroupProps) {
  const titleId = useId()
  const windows = windowsAt(Date.now(), days)
  if (problems.length === 0) return null
  return (
    <Stack component="section" gap={6} aria-labelledby={titleId}>
      <div>
        <Title order={2} id={titleId}>
          {stateName(state)}
        </Title>
        <Text size="xs" c="dimmed">
          {MEANINGS[state]}
        </Text>
      </div>
      <ol className={classes.list}>
        {problems.map(problem => (
          <ProblemRow
            key={problem.id}
            problem={problem}
            project={project}
            windows={windows}
            days={days}
            assigneeName={names.get(problem.assignee ?? '')}
          />
        ))}
      </ol>
    </Stack>
  )
}

interface NoProblemsProps {
  state: ProblemState | null
  days: WindowDays
  project: string
}

function NoProblems({ state, days, project }: NoProblemsProps) {
  if (state !== null) {
    return <Empty title={NONE_IN[state]}>{MEANINGS[state]}</Empty>
  }
  return (
    <Empty title={`No problems in the last ${days} days`}>
      A problem appears as soon as a reviewer corrects an output, or the engine finds the cause of negative feedback.{' '}
      <TextLink href={pathWith('/review', { project })} underline="always">
        Review outputs
      </TextLink>
      {days < 90 && (
        <>
          , or{' '}
          <TextLink href={pathWith('/problems', { project, days: 90 })} underline="always">
            view the last 90 days
          </TextLink>
        </>
      )}
      .
    </Empty>
  )
}

const Expected = () => (
  <Stack gap={6} aria-busy aria-label="Loading">
    <Skeleton h={20} w={80} />
    <Skeleton h={220} />
  </Stack>
)
