import { Group, Skeleton, Stack, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useSearchParams } from 'wouter'
import { pathWith } from '../api/client.ts'
import { useNames } from '../api/names.ts'
import { useMayCompare } from '../api/session.ts'
import type { Agreement } from '../api/wire.ts'
import insights from '../insights/insights.module.css'
import { rangeName, windowsAt } from '../insights/window.ts'
import { useWindow, WindowSelect } from '../insights/window-select.tsx'
import { Counted } from '../parts/counted.tsx'
import { Empty } from '../parts/empty.tsx'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { FilterPill } from '../parts/filter-pill.tsx'
import { count, counted, share } from '../parts/format.ts'
import { NoProject } from '../parts/no-project.tsx'
import { MissingScope } from '../parts/scopes.tsx'
import { TextLink } from '../parts/text-link.tsx'
import { usePageTitle } from '../parts/use-page-title.ts'
import { useProject } from '../session/project.ts'
import { Differing } from './differing.tsx'
import { type PathTo, pathsTo } from './filters.ts'
import { Headline } from './headline.tsx'
import { Pairs } from './pairs.tsx'
import { agreementQuery } from './queries.ts'
import { Reviewers } from './reviewers.tsx'
import { Steps } from './steps.tsx'
import { Weeks } from './weeks.tsx'

/** How often reviewers agree. */
export function Page() {
  usePageTitle('Agreement')
  const project = useProject()
  const isRefused = useMayCompare() === false
  return (
    <Stack gap="lg" className={insights.page}>
      {project === undefined || isRefused ? (
        <>
          <Title order={1}>Agreement</Title>
          {isRefused ? (
            <MissingScope scope="manage">Only managers and adjudicators can see how often reviewers agree</MissingScope>
          ) : (
            <NoProject />
          )}
        </>
      ) : (
        <ProjectAgreement project={project} />
      )}
    </Stack>
  )
}

function ProjectAgreement({ project }: { project: string }) {
  const [address] = useSearchParams()
  const [days, chooseDays] = useWindow()
  const { current } = windowsAt(Date.now(), days)
  const stepId = address.get('stepId')
  const compared = { ...current, stepId }
  const { data: agreement, error, refetch } = useQuery(agreementQuery(project, compared))
  const pathTo = pathsTo(project, compared)
  return (
    <>
      <Group justify="space-between" gap="xs">
        <div>
          <Title order={1}>Agreement</Title>
          <Text size="xs" c="dimmed">
            First votes: {rangeName(current)} (UTC)
          </Text>
        </div>
        <WindowSelect days={days} onChoose={chooseDays} />
      </Group>
      {stepId !== null && (
        <Group gap="xs">
          <FilterPill name="stepId" label="Step" value={stepId} />
        </Group>
      )}
      {error && !agreement && (
        <FaultAlert error={error} title="Couldn't load the agreement figures" onRetry={refetch} />
      )}
      {!agreement && !error && <Skeleton h={480} />}
      {agreement && agreement.decision.outputs === 0 && <NothingToCompare agreement={agreement} project={project} />}
      {agreement && agreement.decision.outputs > 0 && (
        <Compared agreement={agreement} project={project} days={days} range={current} pathTo={pathTo} />
      )}
      {agreement && <Apart agreement={agreement} pathTo={pathTo} />}
    </>
  )
}

interface ComparedProps {
  agreement: Agreement
  project: string
  days: number
  range: { from: string; to: string }
  pathTo: PathTo
}

function Compared({ agreement, project, days, range, pathTo }: ComparedProps) {
  const { reviewers, differing, isCut, steps } = agreement
  const names = useNames([
    ...reviewers.map(({ userId }) => userId),
    ...differing
      .flatMap(({ votes, adjudication }) => [...votes, ...(adjudication ? [adjudication] : [])])
      .map(({ by }) => by),
  ])
  const nameOf = (userId: string) => names.get(userId) ?? '…'
  const shown = { agreement, pathTo, nameOf }
  return (
    <>
      <Stack gap="xs">
        <Headline {...shown} />
        <Text size="sm" c="dimmed">
          This page compares the first votes that reviewers cast blind on sampled outputs that nobody had decided on
          yet.
          {isCut && ' Only the newest 10,000 outputs are compared.'}
        </Text>
      </Stack>
      {steps.length > 0 && <Steps {...shown} project={project} days={days} />}
      {differing.length > 0 && <Differing {...shown} project={project} />}
      <Pairs {...shown} />
      <Reviewers {...shown} />
      <Weeks {...shown} {...range} />
    </>
  )
}

const NothingToCompare = ({ agreement, project }: { agreement: Agreement; project: string }) => (
  <Empty title="Nothing to compare yet">
    {agreement.reviewerCount === 1 && 'Only 1 reviewer has voted. '}
    {agreement.reviewerCount > 1 &&
      `${count(agreement.reviewerCount)} reviewers have voted, but no two on the same output. `}
    Agreement appears here once two people have voted on the same output without seeing each other's votes. Ask for two
    or more blind reviewers per output in the{' '}
    <TextLink href={pathWith('/settings/review-policy', { project })} underline="always">
      review policy
    </TextLink>
    .
  </Empty>
)

/** Votes that earlier votes may have influenced, and votes on outputs outside the random sample. */
function Apart({ agreement: { apart }, pathTo }: { agreement: Agreement; pathTo: PathTo }) {
  const { outputs, unanimous } = apart.decision
  if (outputs === 0) return null
  return (
    <Text size="sm" c="dimmed">
      Not included:{' '}
      <Counted
        value={outputs}
        path={pathTo({ apart: 'true', label: 'decision' })}
        label={`${counted(outputs, 'output')} that ${outputs === 1 ? "isn't" : "aren't"} included`}
      />{' '}
      {outputs === 1
        ? "output that is outside the sample, or whose votes weren't blind or came after a decision."
        : "outputs that are outside the sample, or whose votes weren't blind or came after a decision."}{' '}
      {outputs === 1
        ? `Its votes ${unanimous === 1 ? 'are' : "aren't"} unanimous.`
        : `On ${share(unanimous, outputs)} of them, the votes are unanimous.`}
    </Text>
  )
}
