import { Text } from '@mantine/core'
import type { Agreement } from '../api/wire.ts'
import { intervalName } from '../attribution/interval.ts'
import { Section } from '../insights/section.tsx'
import { ShownText } from '../json/shown-text.tsx'
import { Counted, CountedShare } from '../parts/counted.tsx'
import { count, counted, share } from '../parts/format.ts'
import { StackedTable } from '../parts/stacked-table.tsx'
import type { PathTo } from './filters.ts'

interface ReviewersProps {
  agreement: Agreement
  nameOf: (userId: string) => string
  pathTo: PathTo
}

/** Compares each reviewer with the others, and with adjudicators. */
export function Reviewers({ agreement: { reviewers, reviewerCount }, nameOf, pathTo }: ReviewersProps) {
  const left = reviewerCount - reviewers.length
  return (
    <Section
      title="Reviewers"
      description={`Adjudicators mostly see outputs on which reviewers disagree, so low agreement with an adjudicator isn't a sign of poor work.${left > 0 ? ` ${counted(left, 'other reviewer')} with fewer votes ${left === 1 ? "isn't" : "aren't"} shown.` : ''}`}
    >
      <StackedTable
        label="Reviewers"
        rows={reviewers}
        keyOf={({ userId }) => userId}
        columns={[
          {
            label: 'Reviewer',
            cell: ({ userId }) => (
              <span dir="auto">
                <ShownText text={nameOf(userId)} />
              </span>
            ),
          },
          {
            label: 'Outputs voted on',
            isNarrow: true,
            cell: ({ userId, votes }) => (
              <Counted
                value={votes}
                path={pathTo({ reviewerId: userId })}
                label={`${counted(votes, 'output')} that ${nameOf(userId)} voted on`}
              />
            ),
          },
          {
            label: 'Agrees with other votes',
            cell: ({ decision: { pairs, agreed, agreement } }) =>
              pairs === 0 ? (
                '–'
              ) : (
                <>
                  {share(agreed, pairs)} of {count(pairs)}
                  {agreement.interval && (
                    <Text size="xs" c="dimmed">
                      {intervalName(agreement.interval)}
                    </Text>
                  )}
                </>
              ),
          },
          {
            label: 'Agrees with adjudicators',
            cell: ({ userId, adjudicated: { decision } }) => {
              const { outputs, agreed, agreement } = decision
              const only = { reviewerId: userId, label: 'decision', withAdjudicator: 'true' }
              return outputs === 0 ? (
                'Nothing they voted on went to an adjudicator'
              ) : (
                <>
                  <CountedShare
                    part={agreed}
                    whole={outputs}
                    path={pathTo({ ...only, agrees: 'true' })}
                    label={`${share(agreed, outputs)}: ${counted(agreed, 'output')} on which the adjudicator agrees with ${nameOf(userId)}`}
                  />{' '}
                  of{' '}
                  <Counted
                    value={outputs}
                    path={pathTo(only)}
                    label={`${counted(outputs, 'adjudicated output')} that ${nameOf(userId)} voted on`}
                  />
                  {agreement.interval && (
                    <Text size="xs" c="dimmed">
                      {intervalName(agreement.interval)}
                    </Text>
                  )}
                </>
              )
            },
          },
        ]}
      />
    </Section>
  )
}
