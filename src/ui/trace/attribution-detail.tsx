import { List, Progress, Stack, Text, Title, UnstyledButton } from '@mantine/core'
import { IconCornerDownRight } from '@tabler/icons-react'
import { useNames } from '../api/names.ts'
import { ShownText } from '../json/shown-text.tsx'
import { share } from '../parts/format.ts'
import { Moment } from '../parts/moment.tsx'
import classes from './attribution.module.css'
import type { EngineAnswer, PastAttribution } from './attribution.tsx'
import { useErrorTypeNames } from './use-error-type-names.ts'

interface AttributionDetailProps {
  history: readonly PastAttribution[]
  /** The last answer of an engine. */
  answer: EngineAnswer | undefined
  stepOf: (spanId: string) => string | undefined
  onJump: (spanId: string | null, path: string) => void
}

/** An engine's answer with what it rests on, and what was said before it. */
export function AttributionDetail({ history, answer, stepOf, onJump }: AttributionDetailProps) {
  const typeName = useErrorTypeNames()
  const names = useNames(history.map(past => (past.kind === 'review' ? past.by : null)))
  const others = history.filter(past => past !== answer).toReversed()
  return (
    <div className={classes.detail}>
      {answer && (
        <Stack gap={6}>
          <Title order={3}>
            {answer.errorTypeName}
            <span className={classes.dimmed}>
              {' '}
              · {answer.engine} · <Moment at={answer.createdAt} />
            </span>
          </Title>
          <Text size="sm" className={classes.said} dir="auto">
            <ShownText text={answer.reasoning} />
          </Text>
          <div className={classes.odds}>
            <Odds name={answer.errorTypeName} confidence={answer.confidence} />
            {answer.alternatives.map(({ errorType, confidence }) => (
              <Odds key={errorType} name={typeName(errorType)} confidence={confidence} />
            ))}
          </div>
        </Stack>
      )}
      <Stack gap={6}>
        {answer && (
          <>
            <Title order={3}>Evidence</Title>
            {answer.evidence.length === 0 && <Text c="dimmed">None was given.</Text>}
            <ul className={classes.evidence}>
              {answer.evidence.map(({ spanId, path, note }, index) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: the findings of one answer never move
                <li key={index}>
                  <UnstyledButton className={classes.finding} onClick={() => onJump(spanId, path)}>
                    <IconCornerDownRight size={14} aria-hidden className={classes.arrow} />
                    <span className={classes.said} dir="auto">
                      <span className={classes.where}>
                        {spanId !== null && (
                          <>
                            <ShownText text={stepOf(spanId) ?? 'a span that is gone'} /> ·{' '}
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
          </>
        )}
        {others.length > 0 && (
          <>
            <Title order={3}>{answer ? 'Also said' : 'Said by reviewers'}</Title>
            <List size="sm" spacing={2} listStyleType="none">
              {others.map(past => (
                <List.Item key={past.kind === 'engine' ? past.id : past.reviewId}>
                  {past.errorTypeName}{' '}
                  <Text span size="xs" c="dimmed">
                    {past.kind === 'engine'
                      ? `${past.engine}, ${share(past.confidence, 1)} sure`
                      : `${names.get(past.by) ?? '…'}${past.inForce ? '' : ', not in force any more'}`}
                    , <Moment at={past.createdAt} />
                  </Text>
                </List.Item>
              ))}
            </List>
          </>
        )}
      </Stack>
    </div>
  )
}

const Odds = ({ name, confidence }: { name: string; confidence: number }) => (
  <>
    <Text size="xs">{name}</Text>
    <Progress value={confidence * 100} size="sm" aria-hidden />
    <Text size="xs" ta="end" className={classes.number}>
      {share(confidence, 1)}
    </Text>
  </>
)
