import type { CSSProperties } from 'react'
import type { Agreement } from '../api/wire.ts'
import { ScrolledTable, Section } from '../insights/section.tsx'
import { ShownText } from '../json/shown-text.tsx'
import { counted, share } from '../parts/format.ts'
import { Table } from '../parts/table.tsx'
import { TextLink } from '../parts/text-link.tsx'
import classes from './agreement.module.css'
import { beyondChance, FEW_OUTPUTS, whyNot } from './estimate.tsx'
import type { PathTo } from './filters.ts'

type Pair = Agreement['pairs'][number]

interface PairsProps {
  agreement: Agreement
  nameOf: (userId: string) => string
  pathTo: PathTo
}

/** Cohen's κ for each pair of reviewers, as a matrix. */
export function Pairs({ agreement: { pairs, reviewers }, nameOf, pathTo }: PairsProps) {
  const pairOf = new Map(
    pairs.flatMap(pair => [pair.userIds, pair.userIds.toReversed()].map(ids => [ids.join(), pair])),
  )
  const people = reviewers.filter(({ userId }) => pairs.some(({ userIds }) => userIds.includes(userId)))
  if (people.length < 2) return null
  return (
    <Section
      title="Pairs of reviewers"
      description={`Cohen's κ on decisions (agreement beyond chance) and the number of outputs that both voted on. For pairs with fewer than ${FEW_OUTPUTS} outputs, the percentage shows how often they agree. If two reviewers disagree on any outputs, select their cell to see them.`}
    >
      <ScrolledTable label="Pairs of reviewers">
        <Table verticalSpacing={4}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th scope="col">Reviewer</Table.Th>
              {people.map(({ userId }) => (
                <Table.Th key={userId} scope="col" className={classes.person}>
                  <ShownText text={nameOf(userId)} />
                </Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {people.map(({ userId: row }) => (
              <Table.Tr key={row}>
                <Table.Th scope="row" className={`${classes.person} ${classes.row}`}>
                  <ShownText text={nameOf(row)} />
                </Table.Th>
                {people.map(({ userId: column }) => {
                  const pair = pairOf.get([row, column].join())
                  return pair && pair.decision.outputs > 0 ? (
                    <PairCell key={column} pair={pair} names={[nameOf(row), nameOf(column)]} pathTo={pathTo} />
                  ) : (
                    <Table.Td key={column} className={classes.cell}>
                      {row === column ? '' : '–'}
                    </Table.Td>
                  )
                })}
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </ScrolledTable>
    </Section>
  )
}

interface PairCellProps {
  pair: Pair
  names: [string, string]
  pathTo: PathTo
}

function PairCell({ pair, names, pathTo }: PairCellProps) {
  const { outputs, agreed, kappa } = pair.decision
  const [reviewerId = '', withReviewerId = ''] = pair.userIds
  const isTold = whyNot(kappa, outputs) === undefined
  const value = isTold ? beyondChance(kappa.value ?? 0) : share(agreed, outputs)
  const differing = outputs - agreed
  const interval = isTold && kappa.interval
  return (
    <Table.Td className={`${classes.cell} ${classes.heat}`} style={heatOf(isTold ? (kappa.value ?? 0) : 1)}>
      {differing > 0 ? (
        <TextLink
          href={pathTo({ label: 'decision', reviewerId, withReviewerId, agrees: 'false' })}
          underline="always"
          aria-label={`${names.join(' and ')}: ${isTold ? 'κ ' : ''}${value}. They disagree on ${counted(differing, 'output')}.`}
        >
          {value}
        </TextLink>
      ) : (
        value
      )}
      <div className={classes.small}>
        {interval && (
          <>
            {beyondChance(interval.low)} to {beyondChance(interval.high)}
            <br />
          </>
        )}
        {counted(outputs, 'output')}
      </div>
    </Table.Td>
  )
}

/** The less two reviewers agree, the darker the cell. */
const heatOf = (kappa: number): CSSProperties & Record<'--heat', number> => ({
  '--heat': Math.round(100 * (1 - Math.max(0, kappa))),
})
