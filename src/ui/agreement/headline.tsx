import { Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { nounFor } from '../../domain/counted.ts'
import type { Agreement } from '../api/wire.ts'
import { Section } from '../insights/section.tsx'
import { Counted, CountedShare } from '../parts/counted.tsx'
import { count, counted, share } from '../parts/format.ts'
import classes from './agreement.module.css'
import { beyondChance, EstimateBar, shareName, whyNot } from './estimate.tsx'
import type { PathTo } from './filters.ts'

interface HeadlineProps {
  agreement: Agreement
  pathTo: PathTo
}

/** How often all reviewers agree. */
export const Headline = ({ agreement, pathTo }: HeadlineProps) => (
  <div className={classes.cards}>
    <Card title="Decisions" label="decision" group={agreement.decision} pathTo={pathTo}>
      Whether to accept or correct an output.
    </Card>
    <Card title="Error types" label="errorType" group={agreement.errorType} pathTo={pathTo}>
      Which error type an output has. Only outputs for which at least two reviewers named an error type count.
    </Card>
  </div>
)

interface CardProps {
  title: string
  label: 'decision' | 'errorType'
  group: Agreement['decision']
  pathTo: PathTo
  children: ReactNode
}

function Card({ title, label, group, pathTo, children }: CardProps) {
  const { outputs, unanimous, pairs, agreed, agreement, alpha } = group
  const reason = whyNot(alpha, outputs)
  return (
    <Section title={title} description={children}>
      <div className={classes.card}>
        {outputs === 0 ? (
          <Text size="sm">No two reviewers have labeled the same output.</Text>
        ) : (
          <>
            <Text size="sm">
              On{' '}
              <CountedShare
                part={unanimous}
                whole={outputs}
                path={pathTo({ label, agrees: 'true' })}
                label={`${share(unanimous, outputs)}: ${counted(unanimous, 'output')} on which everybody agrees (${title.toLowerCase()})`}
              />{' '}
              of{' '}
              <Counted
                value={outputs}
                path={pathTo({ label })}
                label={`${counted(outputs, 'compared output')} (${title.toLowerCase()})`}
              />{' '}
              {nounFor(outputs, 'output')}, everybody agrees.
            </Text>
            <Figure
              name="Pairs of votes that agree"
              value={`${share(agreed, pairs)} of ${count(pairs)}`}
              bar={<EstimateBar estimate={agreement} nameOf={shareName} />}
            />
            <Figure
              name="Krippendorff's α (agreement beyond chance)"
              value={reason === undefined ? beyondChance(alpha.value ?? 0) : `${counted(outputs, 'output')}: ${reason}`}
              bar={reason === undefined && <EstimateBar estimate={alpha} nameOf={beyondChance} />}
            />
          </>
        )}
      </div>
    </Section>
  )
}

const Figure = ({ name, value, bar }: { name: string; value: string; bar: ReactNode }) => (
  <div>
    <Text size="xs" c="dimmed">
      {name}
    </Text>
    <Text fw={600}>{value}</Text>
    {bar}
  </div>
)
