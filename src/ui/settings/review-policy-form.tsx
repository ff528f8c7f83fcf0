import { Anchor, Button, Checkbox, Group, NumberInput, Stack, Switch, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useState } from 'react'
import { stepPolicyIn } from '../api/review-policy.ts'
import type { Insights, ReviewPolicy } from '../api/wire.ts'
import { ShownText } from '../json/shown-text.tsx'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { type Column, StackedTable } from '../parts/stacked-table.tsx'
import { useSubmission } from '../parts/use-submission.ts'
import { PolicyPreview, perDay } from './policy-preview.tsx'
import { workloadOf } from './workload.ts'
import { putReviewPolicy, refreshReviewPolicy } from './writes.ts'

type StepPolicy = ReviewPolicy['default']
type Rule = ReviewPolicy['always'][number]

const RULES: readonly { rule: Rule; label: string }[] = [
  { rule: 'negative', label: 'Outputs from traces with negative feedback' },
  { rule: 'error', label: 'Outputs from spans and traces that ended in an error' },
  { rule: 'low_confidence', label: 'Outputs that the engine blames for an error, but with less than 50% confidence' },
]

interface ReviewPolicyFormProps {
  projectId: string
  saved: ReviewPolicy
  insights: Insights
  /** Why the user can't change the policy. Null if they can; undefined while loading. */
  refusal: string | null | undefined
}

/** A row of the form: a step, or the steps that have no policy of their own (null). */
interface Row {
  stepId: string | null
  policy: StepPolicy
  isOwn: boolean
}

/** A form for the policy, with a preview of how many outputs the edited policy would offer. */
export function ReviewPolicyForm({ projectId, saved, insights, refusal }: ReviewPolicyFormProps) {
  const [{ default: other, steps, always }, setDraft] = useState(saved)
  const { submit, isPending, error } = useSubmission({
    send: (policy: Pick<ReviewPolicy, 'default' | 'steps' | 'always'>) => putReviewPolicy(projectId, policy),
    onDone: async () => {
      await refreshReviewPolicy()
      notifications.show({ message: 'Review policy saved.' })
    },
  })
  const isReadOnly = refusal !== null
  const stepIds = [...new Set([...insights.steps.map(({ stepId }) => stepId), ...Object.keys(steps)])]
  const rows: Row[] = [
    ...stepIds.map(stepId => ({
      stepId,
      policy: stepPolicyIn({ default: other, steps }, stepId),
      isOwn: Object.hasOwn(steps, stepId),
    })),
    { stepId: null, policy: other, isOwn: true },
  ]
  const change = ({ stepId, policy }: Row, fields: Partial<StepPolicy>) => {
    const changed = { ...policy, ...fields }
    setDraft(draft =>
      stepId === null ? { ...draft, default: changed } : { ...draft, steps: { ...draft.steps, [stepId]: changed } },
    )
  }
  const followOthers = (stepId: string) => {
    const { [stepId]: _, ...rest } = steps
    setDraft(draft => ({ ...draft, steps: rest }))
  }
  const workload = workloadOf({ default: other, steps }, insights)
  const nameOf = ({ stepId }: Row) => stepId ?? 'other steps'
  const columns: Column<Row>[] = [
    {
      label: 'Step',
      cell: ({ stepId, isOwn }) =>
        stepId === null ? (
          <Text size="sm" fw={500}>
            Other steps
          </Text>
        ) : (
          <Stack gap={0} align="flex-start">
            <Text size="sm" component="span" {...(!isOwn && { c: 'dimmed' })}>
              <ShownText text={stepId} />
            </Text>
            {isOwn && !isReadOnly && (
              <Anchor
                component="button"
                size="xs"
                aria-label={`Review ${stepId}: Same as other steps`}
                onClick={() => followOthers(stepId)}
              >
                Same as other steps
              </Anchor>
            )}
          </Stack>
        ),
    },
    {
      label: 'Reviewed by people',
      cell: row => (
        <Switch
          aria-label={`People review ${nameOf(row)}`}
          disabled={isReadOnly}
          checked={row.policy.sample > 0}
          onChange={({ currentTarget }) => change(row, { sample: currentTarget.checked ? 1 : 0 })}
        />
      ),
    },
    {
      label: 'Share',
      cell: row => (
        <NumberInput
          aria-label={`Share for ${nameOf(row)}`}
          w={96}
          size="xs"
          suffix="%"
          min={0}
          max={100}
          decimalScale={4}
          clampBehavior="strict"
          hideControls
          disabled={isReadOnly || row.policy.sample === 0}
          value={toPercent(row.policy.sample)}
          onChange={value => typeof value === 'number' && value > 0 && change(row, { sample: value / 100 })}
        />
      ),
    },
    {
      label: 'Reviewers',
      cell: row => (
        <NumberInput
          aria-label={`Reviewers for ${nameOf(row)}`}
          w={72}
          size="xs"
          min={1}
          max={5}
          allowDecimal={false}
          clampBehavior="strict"
          disabled={isReadOnly || row.policy.sample === 0}
          value={row.policy.reviewers}
          onChange={value => typeof value === 'number' && change(row, { reviewers: value })}
        />
      ),
    },
    {
      label: 'Blind',
      cell: row => (
        <Checkbox
          aria-label={`Review ${nameOf(row)} blind`}
          disabled={isReadOnly || row.policy.sample === 0}
          checked={row.policy.blind}
          onChange={({ currentTarget }) => change(row, { blind: currentTarget.checked })}
        />
      ),
    },
    {
      label: 'Outputs per day',
      cell: ({ stepId }) => (
        <Text size="sm" component="span">
          {stepId !== null && workload.byStep.has(stepId) ? perDay(workload.byStep.get(stepId) ?? 0) : '–'}
        </Text>
      ),
    },
  ]
  return (
    <Stack gap="md">
      <PolicyPreview workload={workload} hasRules={always.length > 0} />
      <StackedTable label="Review policy by step" columns={columns} rows={rows} keyOf={({ stepId }) => stepId ?? ''} />
      <Checkbox.Group
        label="Always offer"
        description="Offered in addition to the share, but only for steps that people review"
        value={[...always]}
        onChange={values =>
          setDraft(draft => ({ ...draft, always: RULES.flatMap(({ rule }) => (values.includes(rule) ? rule : [])) }))
        }
      >
        <Stack gap="xs" mt="xs">
          {RULES.map(({ rule, label }) => (
            <Checkbox key={rule} value={rule} label={label} disabled={isReadOnly} />
          ))}
        </Stack>
      </Checkbox.Group>
      {error && <FaultAlert error={error} />}
      <Group gap="sm">
        <Button disabled={isReadOnly} loading={isPending} onClick={() => submit({ default: other, steps, always })}>
          Save
        </Button>
        {refusal && (
          <Text size="sm" c="dimmed">
            {refusal}
          </Text>
        )}
      </Group>
    </Stack>
  )
}

/** A share as a percentage, without the rounding errors of binary fractions. */
const toPercent = (sample: number): number => Number((100 * sample).toPrecision(12))
