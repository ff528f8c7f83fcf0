import { Text } from '@mantine/core'
import type { VotedOutputs } from '../api/wire.ts'
import { IconCheck, IconPencil, IconScale } from '../icons/index.ts'
import { ShownText } from '../json/shown-text.tsx'
import { Mark } from '../parts/mark.tsx'
import { useErrorTypeNames } from '../session/error-type-names.ts'
import classes from './agreement.module.css'

type VotedOutput = VotedOutputs['outputs'][number]

interface VotesProps {
  output: VotedOutput
  nameOf: (userId: string) => string
}

/** An output's votes side by side, and what the adjudicator decided. */
export const Votes = ({ output: { votes, adjudication }, nameOf }: VotesProps) => (
  <ul className={classes.votes}>
    {votes.map(vote => (
      <Vote key={vote.by} vote={vote} name={nameOf(vote.by)} />
    ))}
    {adjudication && <Vote vote={adjudication} name={nameOf(adjudication.by)} isAdjudication />}
  </ul>
)

interface VoteProps {
  vote: VotedOutput['votes'][number]
  name: string
  isAdjudication?: boolean
}

function Vote({ vote: { decision, errorType, comment }, name, isAdjudication = false }: VoteProps) {
  const typeName = useErrorTypeNames()
  return (
    <li className={classes.vote}>
      <Text size="xs" c="dimmed" dir="auto">
        {isAdjudication && <IconScale size={13} aria-hidden />} <ShownText text={name} />
        {isAdjudication && ', adjudicator'}
      </Text>
      {decision === 'accept' ? (
        <Mark label="Accept" Icon={IconCheck} tone="good" />
      ) : (
        <Mark label="Correct" Icon={IconPencil} tone="bad" />
      )}
      {errorType !== null && (
        <Text size="sm">
          <ShownText text={typeName(errorType)} />
        </Text>
      )}
      {comment !== null && (
        <Text size="sm" c="dimmed" dir="auto" lineClamp={4}>
          “<ShownText text={comment} />”
        </Text>
      )}
    </li>
  )
}
