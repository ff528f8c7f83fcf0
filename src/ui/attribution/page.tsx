import { Group, Skeleton, Stack, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useSearchParams } from 'wouter'
import { nounFor } from '../../domain/counted.ts'
import type { AttributionQuality } from '../api/wire.ts'
import { rangeName, windowsAt } from '../insights/window.ts'
import { useWindow, WindowSelect } from '../insights/window-select.tsx'
import { Counted, CountedShare } from '../parts/counted.tsx'
import { Empty } from '../parts/empty.tsx'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { FilterPill } from '../parts/filter-pill.tsx'
import { counted, share } from '../parts/format.ts'
import { NoProject } from '../parts/no-project.tsx'
import { usePageTitle } from '../parts/use-page-title.ts'
import { useErrorTypes } from '../session/error-type-names.ts'
import { useProject } from '../session/project.ts'
import { Calibration } from './calibration.tsx'
import { pathsTo } from './filters.ts'
import { intervalName } from './interval.ts'
import { MEASURED } from './measured.ts'
import { qualityQuery } from './queries.ts'
import { ByEngine, ByErrorType } from './tables.tsx'

/** How often the attribution engine agrees with reviewers. */
export function Page() {
  usePageTitle('Attribution')
  const project = useProject()
  return (
    <Stack gap="lg">
      {project === undefined ? (
        <>
          <Title order={1}>Attribution</Title>
          <NoProject />
        </>
      ) : (
        <Quality project={project} />
      )}
    </Stack>
  )
}

function Quality({ project }: { project: string }) {
  const [address] = useSearchParams()
  const [days, chooseDays] = useWindow()
  const { current } = windowsAt(Date.now(), days)
  const comparison = { ...current, engine: address.get('engine'), engineVersion: address.get('engineVersion') }
  const { data: quality, error, refetch } = useQuery(qualityQuery(project, comparison))
  const typeNames = useErrorTypes()
  const { engine, engineVersion } = comparison
  const shown = { quality, typeNames, pathTo: pathsTo(project, comparison) }
  return (
    <>
      <Group justify="space-between" gap="xs">
        <div>
          <Title order={1}>Attribution</Title>
          <Text size="xs" c="dimmed">
            Reviews from {rangeName(current)} (UTC)
          </Text>
        </div>
        <WindowSelect days={days} onChoose={chooseDays} />
      </Group>
      {(engine !== null || engineVersion !== null) && (
        <Group gap="xs">
          {engine !== null && <FilterPill name="engine" label="Engine" value={engine} />}
          {engineVersion !== null && <FilterPill name="engineVersion" label="Version" value={engineVersion} />}
        </Group>
      )}
      {error && !quality && <FaultAlert error={error} title="Couldn't load the comparison" onRetry={refetch} />}
      {!quality && !error && <Skeleton h={480} />}
      {quality?.reviewed === 0 && (
        <Empty title="Nothing to compare yet">
          When a reviewer sets an error type on a trace that has an engine's answer, this page compares the two.
        </Empty>
      )}
      {quality && quality.reviewed > 0 && (
        <>
          <Summary quality={quality} pathTo={shown.pathTo} />
          <ByEngine {...shown} quality={quality} project={project} days={days} />
          <ByErrorType {...shown} quality={quality} />
          <Calibration {...shown} quality={quality} />
        </>
      )}
      {quality && (
        <Text size="sm" c="dimmed">
          An independent author wrote and labeled {MEASURED.cases} cases. Version {MEASURED.version} of the rules chose
          the right error type for {MEASURED.right} of them (95% interval: {intervalName(MEASURED.interval)}).
        </Text>
      )}
    </>
  )
}

interface SummaryProps {
  quality: AttributionQuality
  pathTo: ReturnType<typeof pathsTo>
}

function Summary({ quality, pathTo }: SummaryProps) {
  const { agreed, reviewed, reviewedIsMinimum, interval, agreement, kappa } = quality
  return (
    <Stack gap={2}>
      <Text>
        The engine and the reviewer chose the same error type for{' '}
        <CountedShare
          part={agreed}
          whole={reviewed}
          path={pathTo({ agrees: 'true' })}
          label={`${share(agreed, reviewed)}: ${counted(agreed, 'answer')} in agreement`}
        />{' '}
        of <Counted value={reviewed} path={pathTo()} label={counted(reviewed, 'compared answer')} />{' '}
        {nounFor(reviewed, 'trace')} (95% interval: {intervalName(interval)})
        {agreement.category !== null && <>, and the same category for {share(agreement.category, 1)}</>}.
        {kappa.errorType !== null && <> Cohen's κ is {kappa.errorType.toFixed(2)}.</>}
      </Text>
      <Text size="sm" c="dimmed">
        Reviewers who see the engine's answer may simply accept it, so the engine is probably right less often than
        this.
        {reviewedIsMinimum && ' Only the newest 10,000 reviews with an error type are compared.'}
      </Text>
    </Stack>
  )
}
