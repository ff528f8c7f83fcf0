import { List, Progress, Stack, Text, Title, UnstyledButton } from '@mantine/core'
import { useNames } from '../api/names.ts'
import type { AttributionQuality, Attributions } from '../api/wire.ts'
import { IconCornerDownRight } from '../icons/index.ts'
import { Said } from '../json/said.tsx'
import { ShownText } from '../json/shown-text.tsx'
import { count, share } from '../parts/format.ts'
import { Moment } from '../parts/moment.tsx'
import { useErrorTypeNames } from '../session/error-type-names.ts'
import classes from './attribution.module.css'
import { recordOn, supported } from './engine-record.ts'

export type PastAttribution = Attributions['attributions'][number]
type EngineAnswer = Extract<PastAttribution, { kind: 'engine' }>
export type ReviewersAnswer = Extract<PastAttribution, { kind: 'review' }>

type OnJump = (spanId: string | null, path: string) => void
type StepOf = (spanId: string) => string | undefined

interface AttributionDetailProps {
  history: readonly PastAttribution[]
  /** The engine's latest answer. */
  answer: EngineAnswer | undefined
  /** The review that overrides the engine's answer. */
  override: ReviewersAnswer | undefined
  /** How often the engine agreed with reviewers. Undefined while loading. */
  record: AttributionQuality | undefined
  stepOf: StepOf
  onJump: OnJump
}

/** The reviewer's error type, if any; the engine's answer with its evidence; and earlier answers. */
export function AttributionDetail({ history, answer, override, record, stepOf, onJump }: AttributionDetailProps) {
  const typeName = useErrorTypeNames()
  const names = useNames(history.map(past => (past.kind === 'review' ? past.by : null)))
  const others = history.filter(past => past !== answer && past !== override).toReversed()
  return (
    <div className={classes.detail}>
      {override && (
        <Stack gap={6}>
          <Statement
            name={override.errorTypeName}
            source={names.get(override.by) ?? 'a reviewer'}
            at={override.createdAt}
            reasoning={override.reasoning}
          />
          <Findings evidence={override.evidence} stepOf={stepOf} onJump={onJump} />
        </Stack>
      )}
      {answer && (
        <Stack gap={6}>
          {override && (
            <Text size="sm" c="dimmed">
              The engine's answer, overruled by the reviewer:
            </Text>
          )}
          <Statement
            name={answer.errorTypeName}
            source={answer.engine}
            at={answer.createdAt}
            reasoning={answer.reasoning}
          />
          <div className={classes.odds}>
            {[answer, ...answer.alternatives].map(({ errorType, confidence }) => (
              <Odds
                key={errorType}
                name={errorType === answer.errorType ? answer.errorTypeName : typeName(errorType)}
                confidence={confidence}
                errorType={errorType}
                record={record}
              />
            ))}
          </div>
          <Text size="xs" c="dimmed">
            The light bar shows the engine's confidence. The solid bar shows how much of that confidence is supported by
            the engine's track record: how often reviewers in this project agreed with the engine on this type. The
            solid bar never extends past the low end of the track record's 95% interval.
          </Text>
        </Stack>
      )}
      {(answer || others.length > 0) && (
        <Stack gap={6}>
          {answer && (
            <>
              <Title order={3}>{override ? "The engine's evidence" : 'Evidence'}</Title>
              {answer.evidence.length === 0 && <Text c="dimmed">No evidence.</Text>}
              <Findings evidence={answer.evidence} stepOf={stepOf} onJump={onJump} />
            </>
          )}
          {others.length > 0 && (
            <>
              <Title order={3}>{answer ? 'Earlier answers' : 'Set by reviewers'}</Title>
              <List size="sm" spacing={2} listStyleType="none">
                {others.map(past => (
                  <List.Item key={past.kind === 'engine' ? past.id : past.reviewId}>
                    {past.errorTypeName}{' '}
                    <Text span size="xs" c="dimmed">
                      {past.kind === 'engine'
                        ? past.engine
                        : `${names.get(past.by) ?? '…'}${past.inForce ? '' : ', replaced'}`}
                      , <Moment at={past.createdAt} />
                    </Text>
                  </List.Item>
                ))}
              </List>
            </>
          )}
        </Stack>
      )}
    </div>
  )
}

interface StatementProps {
  name: string
  source: string
  at: string
  reasoning: string
}

/** A root cause with its source and reasoning. */
const Statement = ({ name, source, at, reasoning }: StatementProps) => (
  <>
    <Title order={3}>
      {name}
      <span className={classes.dimmed}>
        {' '}
        · {source} · <Moment at={at} />
      </span>
    </Title>
    <Said text={reasoning} />
  </>
)

interface FindingsProps {
  evidence: PastAttribution['evidence']
  stepOf: StepOf
  onJump: OnJump
}

/** The findings, each with a link to its place. */
const Findings = ({ evidence, stepOf, onJump }: FindingsProps) => (
  <ul className={classes.evidence}>
    {evidence.map(({ spanId, path, note }, index) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: the findings of one answer never move
      <li key={index}>
        <UnstyledButton className={classes.finding} onClick={() => onJump(spanId, path)}>
          <IconCornerDownRight size={14} aria-hidden className={classes.arrow} />
          <span className={classes.said} dir="auto">
            <span className={classes.where}>
              {spanId !== null && (
                <>
                  <ShownText text={stepOf(spanId) ?? 'another span'} /> ·{' '}
                </>
              )}
              <ShownText text={path} />
            </span>{' '}
            <ShownText text={note} />
          </span>
        </UnstyledButton>
      </li>
    ))}
  </ul>
)

interface OddsProps {
  name: string
  errorType: string
  confidence: number
  record: AttributionQuality | undefined
}

/**
 * The engine's confidence in a type. The solid bar shows how much of that confidence the engine's record on the type
 * supports.
 */
function Odds({ name, errorType, confidence, record }: OddsProps) {
  const onType = record && recordOn(record, errorType)
  return (
    <>
      <Text size="xs">{name}</Text>
      <Progress
        value={100 * supported(confidence, onType ?? null)}
        size="sm"
        aria-hidden
        className={classes.sure}
        style={{ '--sure': `${100 * confidence}%` }}
      />
      <Text size="xs" ta="end" className={classes.number}>
        {share(confidence, 1)} sure
      </Text>
      <Text size="xs" c="dimmed" className={classes.number}>
        {onType === undefined
          ? ''
          : onType === null
            ? 'no track record'
            : `right in ${count(onType.agreed)} of ${count(onType.answered)}`}
      </Text>
    </>
  )
}
