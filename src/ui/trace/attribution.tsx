import { Button, Collapse, Group, Skeleton, Text, Title, UnstyledButton } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { lazy, Suspense } from 'react'
import { Fault } from '../api/client.ts'
import type { AttributionQuality } from '../api/wire.ts'
import { IconChevronDown, IconChevronRight } from '../icons/index.ts'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { count, counted } from '../parts/format.ts'
import { useMay } from '../parts/scopes.tsx'
import classes from './attribution.module.css'
import type { PastAttribution, ReviewersAnswer } from './attribution-detail.tsx'
import { engineRecordQuery, recordOn } from './engine-record.ts'
import { analyze, attributionsQuery, type NamedTrace } from './queries.ts'

/** The details, which load when they're first shown. */
const AttributionDetail = lazy(async () => ({ default: (await import('./attribution-detail.tsx')).AttributionDetail }))

interface AttributionProps {
  /** The trace's ID. */
  id: string
  trace: NamedTrace
  /** A span's step, by the span's ID. */
  stepOf: (spanId: string) => string | undefined
  /** Goes to a finding's place. The span's ID is null if the finding isn't in a span. */
  onJump: (spanId: string | null, path: string) => void
}

const NONE: PastAttribution[] = []

/** The root cause: the latest answer from a reviewer or the engine, with details below. */
export function Attribution({ id, trace, stepOf, onJump }: AttributionProps) {
  const queryClient = useQueryClient()
  const [isOpen, { toggle, open }] = useDisclosure()
  const { data: history = NONE, error, isPending, refetch } = useQuery(attributionsQuery(id))
  const answer = history.findLast(past => past.kind === 'engine')
  const override = history.findLast((past): past is ReviewersAnswer => past.kind === 'review' && past.inForce)
  const word = override ?? answer
  const { data: record } = useQuery(engineRecordQuery(trace.project, answer))
  const mayForce = useMay('manage') === true
  const analysis = useMutation({
    // Users who can't force a new run still get one if there is new data.
    mutationFn: () => analyze(trace, answer !== undefined && mayForce),
    onSuccess: open,
    onSettled: () => queryClient.invalidateQueries({ queryKey: attributionsQuery(id).queryKey }),
  })
  const hasNothingToAnalyze = analysis.error instanceof Fault && analysis.error.status === 422
  return (
    <section className={classes.card} aria-label="Attribution">
      <Group justify="space-between" gap="xs" wrap="nowrap">
        <div className={classes.summary}>
          <Title order={2} className={classes.title}>
            {history.length > 0 ? (
              <UnstyledButton className={classes.toggle} aria-expanded={isOpen} onClick={toggle}>
                {isOpen ? <IconChevronDown size={14} aria-hidden /> : <IconChevronRight size={14} aria-hidden />}
                Attribution
              </UnstyledButton>
            ) : (
              'Attribution'
            )}
          </Title>
          {isPending ? <Skeleton w={220} h={14} /> : !error && <Summary word={word} record={record} />}
        </div>
        <Button
          size="compact-xs"
          variant="default"
          loading={analysis.isPending}
          onClick={() => analysis.mutate()}
          flex="none"
        >
          {answer ? 'Analyze again' : 'Analyze'}
        </Button>
      </Group>
      {analysis.isPending && (
        <Text size="xs" c="dimmed" role="status">
          Analyzing…
        </Text>
      )}
      {hasNothingToAnalyze ? (
        <Text size="sm" role="alert" mt={4}>
          Nothing to analyze yet. This trace has no rating of 0.5 or below, no comments, and no corrected outputs.
        </Text>
      ) : (
        analysis.error && (
          <FaultAlert error={analysis.error} title="Couldn't analyze this trace" onRetry={() => analysis.mutate()} />
        )
      )}
      {error && <FaultAlert error={error} title="Couldn't load the attribution" onRetry={refetch} />}
      <Collapse expanded={isOpen}>
        {isOpen && (
          <Suspense fallback={<Skeleton h={120} />}>
            <AttributionDetail
              history={history}
              answer={answer}
              override={override}
              record={record}
              stepOf={stepOf}
              onJump={onJump}
            />
          </Suspense>
        )}
      </Collapse>
    </section>
  )
}

/** The latest answer in one line. */
function Summary({ word, record }: { word: PastAttribution | undefined; record: AttributionQuality | undefined }) {
  if (!word) return <span className={classes.dimmed}>Not analyzed yet</span>
  const source = word.kind === 'review' ? 'set by a reviewer' : `${word.engine}${record ? rightIn(word, record) : ''}`
  return (
    <span className={classes.word}>
      <strong>{word.errorTypeName}</strong>
      {/* Keeps the dot off the end of a line. */}
      {word.errorTypeCategory && ` ·\u00a0${word.errorTypeCategory.replace(' ', '\u00a0')}`}
      <span className={classes.dimmed}>
        {' '}
        ·{'\u00a0'}
        {source}
      </span>
    </span>
  )
}

/** How often the engine was right about this type. Shown instead of its confidence. */
function rightIn({ errorType }: PastAttribution, quality: AttributionQuality): string {
  const record = recordOn(quality, errorType)
  return record
    ? ` · right in ${count(record.agreed)} of ${counted(record.answered, 'reviewed answer')} of this type`
    : ' · no track record for this type yet'
}
