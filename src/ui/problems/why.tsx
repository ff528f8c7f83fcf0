import { Skeleton, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useNames } from '../api/names.ts'
import type { Attributions, Problem } from '../api/wire.ts'
import { Said } from '../json/said.tsx'
import { ShownText } from '../json/shown-text.tsx'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { Moment } from '../parts/moment.tsx'
import { useErrorTypeNames } from '../session/error-type-names.ts'
import { attributionsQuery } from '../trace/queries.ts'
import classes from './problem-page.module.css'
import type { Example } from './queries.ts'

/** How many of the engine's findings are shown. The trace has all of them. */
const SHOWN_FINDINGS = 3

type EngineAnswer = Extract<Attributions['attributions'][number], { kind: 'engine' }>

/** Why an output is wrong, according to its reviewer and to the engine. */
export function Why({ span, problem }: { span: Example; problem: Problem }) {
  const { review, trace } = span
  const typeName = useErrorTypeNames()
  const names = useNames([review.by])
  const { data, error, refetch, isPending } = useQuery(attributionsQuery(trace.id))
  const answer = data?.findLast((past): past is EngineAnswer => past.kind === 'engine')
  const who = review.by === null ? 'A reviewer' : (names.get(review.by) ?? 'A reviewer')
  return (
    <Stack gap={6} component="section" aria-label="Why it's wrong" className={classes.why}>
      {review.state === 'corrected' ? (
        <div>
          <Text size="xs" c="dimmed">
            <ShownText text={who} /> corrected this
            {review.at !== null && (
              <>
                {' '}
                on <Moment at={review.at} />
              </>
            )}
            {review.errorType !== null && (
              <>
                . Error type:{' '}
                <b>
                  <ShownText text={typeName(review.errorType)} />
                </b>
              </>
            )}
          </Text>
          {review.comment !== null && <Said text={review.comment} />}
        </div>
      ) : (
        <Text size="xs" c="dimmed">
          No reviewer has corrected this yet.
        </Text>
      )}
      {isPending && <Skeleton h={14} w="60%" />}
      {error && !data && <FaultAlert error={error} title="Couldn't load the engine's answer" onRetry={refetch} />}
      {answer && <EngineSays answer={answer} isAgreed={answer.errorType === problem.errorType} />}
    </Stack>
  )
}

const EngineSays = ({ answer, isAgreed }: { answer: EngineAnswer; isAgreed: boolean }) => (
  <div>
    <Text size="xs" c="dimmed">
      The engine ({answer.engine}) {isAgreed ? 'agrees' : 'says'}: <b>{answer.errorTypeName}</b>
    </Text>
    <Said text={answer.reasoning} />
    {answer.evidence.length > 0 && (
      <ul className={classes.findings}>
        {answer.evidence.slice(0, SHOWN_FINDINGS).map(({ path, note }) => (
          <li key={`${path} ${note}`} dir="auto">
            <code>
              <ShownText text={path} />
            </code>{' '}
            <ShownText text={note} />
          </li>
        ))}
      </ul>
    )}
  </div>
)
