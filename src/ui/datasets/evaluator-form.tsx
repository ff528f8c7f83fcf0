import { Button, Select, Stack, Text } from '@mantine/core'
import { call } from '../api/client.ts'
import type { Dataset } from '../api/wire.ts'
import { IconPlus } from '../icons/index.ts'
import { DialogForm } from '../parts/dialog-form.tsx'
import { draftOf, evaluatorOf, isRepeated, newRule, type RuleDraft } from './evaluator-draft.ts'
import { COMPARISON_LABELS } from './evaluator-words.ts'
import { refreshDataset } from './queries.ts'
import { RuleRow, Tolerance } from './rule-row.tsx'

const WHOLE_TYPES = [
  { value: '', label: 'Default: by field, or as text' },
  { value: 'fields', label: `${COMPARISON_LABELS.fields}: each field on its own` },
  { value: 'exact', label: `${COMPARISON_LABELS.exact}: the same JSON` },
  { value: 'text', label: `${COMPARISON_LABELS.text}: whitespace and case don't matter` },
  { value: 'number', label: `${COMPARISON_LABELS.number}: numbers may differ a little` },
] as const

/** Sets how experiments compare outputs with the expected outputs. */
export function EvaluatorForm({ dataset: { id, evaluator } }: { dataset: Dataset }) {
  return (
    <DialogForm
      trigger={open => (
        <Button size="xs" variant="default" onClick={open}>
          Evaluator
        </Button>
      )}
      title="Evaluator"
      initial={draftOf(evaluator)}
      fields={['type', 'tolerance', 'paths']}
      button={({ rules }) => ({ act: 'Save', isDisabled: rules.some((_, index) => isRepeated(rules, index)) })}
      send={draft => call(`/api/datasets/${id}/evaluator`, { method: 'PUT', body: evaluatorOf(draft) })}
      onDone={() => refreshDataset(id)}
      notice={() => 'Evaluator saved. New experiments will use it.'}
    >
      {({ type, tolerance, rules }, change, faults) => {
        const changeRule = (id: string, part: Partial<RuleDraft>) =>
          change({ rules: rules.map(rule => (rule.id === id ? { ...rule, ...part } : rule)) })
        return (
          <Stack gap="sm">
            <Select
              label="Compare the whole output"
              data={WHOLE_TYPES}
              allowDeselect={false}
              value={type}
              onChange={chosen => chosen !== null && change({ type: chosen })}
              error={faults.of('type')}
            />
            {type === 'number' && (
              <Tolerance
                value={tolerance}
                onChange={given => change({ tolerance: given })}
                error={faults.of('tolerance')}
              />
            )}
            <Text size="sm">
              Parts that are compared differently. A path consists of field names and list positions, separated by dots;
              * matches any name or position, as in items.*.price.
            </Text>
            {rules.map((rule, index) => (
              <RuleRow
                key={rule.id}
                rule={rule}
                place={index + 1}
                onChange={part => changeRule(rule.id, part)}
                onRemove={() => change({ rules: rules.filter(({ id }) => id !== rule.id) })}
                error={
                  isRepeated(rules, index) ? 'This path is already in the list' : faults.of(`paths.${rule.path.trim()}`)
                }
              />
            ))}
            <Button
              size="xs"
              variant="default"
              leftSection={<IconPlus size={14} aria-hidden />}
              onClick={() => change({ rules: [...rules, newRule()] })}
              style={{ alignSelf: 'start' }}
            >
              Add a path
            </Button>
          </Stack>
        )
      }}
    </DialogForm>
  )
}
