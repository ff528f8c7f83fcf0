import { Text } from '@mantine/core'
import { pathWith } from '../api/client.ts'
import type { Agreement } from '../api/wire.ts'
import { Section } from '../insights/section.tsx'
import { ShownText } from '../json/shown-text.tsx'
import { Counted, CountedShare } from '../parts/counted.tsx'
import { counted, share } from '../parts/format.ts'
import { StackedTable } from '../parts/stacked-table.tsx'
import { TextLink } from '../parts/text-link.tsx'
import { beyondChance, EstimateBar, whyNot } from './estimate.tsx'
import type { PathTo } from './filters.ts'
import { GuidelineButton } from './guideline-button.tsx'

type Step = Agreement['steps'][number]

interface StepsProps {
  agreement: Agreement
  project: string
  days: number
  pathTo: PathTo
}

/** How often reviewers agree on each step's outputs. */
export function Steps({ agreement: { steps, stepCount }, project, days, pathTo }: StepsProps) {
  const left = stepCount - steps.length
  return (
    <Section
      title="By step"
      description={`Steps with the least agreement come first. If agreement is low, the step's guideline may be open to interpretation.${left > 0 ? ` ${counted(left, 'other step')} with fewer outputs ${left === 1 ? "isn't" : "aren't"} shown.` : ''}`}
    >
      <StackedTable
        label="Agreement by step"
        rows={steps.toSorted((one, other) => rankOf(one) - rankOf(other))}
        keyOf={({ stepId }) => stepId}
        columns={[
          {
            label: 'Step',
            cell: ({ stepId }) => (
              <TextLink href={pathWith('/agreement', { project, days, stepId })}>
                <span dir="auto">
                  <ShownText text={stepId} />
                </span>
              </TextLink>
            ),
          },
          {
            label: 'Outputs',
            isNarrow: true,
            cell: ({ stepId, decision: { outputs } }) => (
              <Counted
                value={outputs}
                path={pathTo({ stepId, label: 'decision' })}
                label={`${counted(outputs, 'compared output')} from ${stepId}`}
              />
            ),
          },
          {
            label: 'Everybody agrees',
            isNarrow: true,
            cell: ({ stepId, decision: { outputs, unanimous } }) => (
              <CountedShare
                part={unanimous}
                whole={outputs}
                path={pathTo({ stepId, label: 'decision', agrees: 'true' })}
                label={`${share(unanimous, outputs)}: ${counted(unanimous, 'output')} from ${stepId} on which everybody agrees`}
              />
            ),
          },
          {
            label: 'Decisions, α',
            width: '25%',
            cell: ({ decision }) => <BeyondChance group={decision} />,
          },
          {
            label: 'Error types, α',
            width: '25%',
            cell: ({ errorType }) => <BeyondChance group={errorType} />,
          },
          { label: 'Guideline', isActions: true, cell: ({ stepId }) => <GuidelineButton stepId={stepId} /> },
        ]}
      />
    </Section>
  )
}

/** Sorts steps by α, lowest first. Steps that have no α come last. */
const rankOf = ({ decision: { alpha, outputs } }: Step): number =>
  whyNot(alpha, outputs) === undefined ? (alpha.value ?? 0) : 2

function BeyondChance({ group: { alpha, outputs } }: { group: Step['decision'] }) {
  const reason = whyNot(alpha, outputs)
  if (outputs === 0) return '–'
  if (reason !== undefined) return <Text size="sm">{`${counted(outputs, 'output')}: ${reason}`}</Text>
  return (
    <>
      <Text size="sm" fw={600}>
        {beyondChance(alpha.value ?? 0)}
      </Text>
      <EstimateBar estimate={alpha} nameOf={beyondChance} />
    </>
  )
}
