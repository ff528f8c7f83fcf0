import { Button, NumberInput, Switch, Text, TextInput } from '@mantine/core'
import { MIN_ROLLBACK_LOOK } from '../../domain/watch.ts'
import type { Gate } from '../api/wire.ts'
import { IconTrash } from '../icons/index.ts'
import { DialogForm, IconTrigger } from '../parts/dialog-form.tsx'
import { useProjectId } from '../session/project.ts'
import { PROMPTS, type VersionedText } from './kinds.ts'
import { deleteGate, type GateConditions, refreshTexts, saveGate } from './writes.ts'

/** The form's numbers. '' means none. */
type Draft = Record<Exclude<keyof GateConditions, keyof Settings>, number | string> & Settings
type Settings = Pick<GateConditions, 'split' | 'allowJudge' | 'autoRollback'>

const FIELDS = [
  { name: 'minItems', label: 'Minimum judged items', hint: 'Items that passed, failed, or ended in an error.' },
  { name: 'minPassRate', label: 'Minimum pass rate', hint: 'As a percentage.' },
  {
    name: 'maxRegressed',
    label: 'Maximum regressed items',
    hint: 'Items that were right in production and are now wrong.',
  },
  {
    name: 'maxUnjudged',
    label: 'Maximum unjudged items',
    hint: 'Items that still need a judgment from a person, or from a model if you allow it.',
  },
  { name: 'maxAgeDays', label: 'Maximum days since the experiment', hint: '' },
] as const

/** Sets or changes a step's gate. */
export function GateForm({ text }: { text: VersionedText }) {
  const projectId = useProjectId() ?? ''
  const act = text.gate ? 'Change the gate' : 'Set a gate'
  return (
    <DialogForm
      trigger={open => (
        <Button size="compact-xs" variant="default" onClick={open}>
          {act}
        </Button>
      )}
      title={act}
      initial={draftOf(text.gate)}
      fields={[...FIELDS.map(({ name }) => name), 'split', 'allowJudge', 'autoRollback']}
      button={({ minItems }) => ({ act: 'Save gate', isDisabled: minItems === '' })}
      send={draft => saveGate(projectId, text.name, conditionsOf(draft))}
      onDone={() => refreshTexts(PROMPTS, text.id)}
      notice={() => 'Gate saved.'}
    >
      {(draft, change, faults) => (
        <>
          <Text size="sm">
            The version's latest finished experiment counts. It must cover all items in the split. To skip a condition,
            leave its field empty.
          </Text>
          {FIELDS.map(({ name, label, hint }) => (
            <NumberInput
              key={name}
              label={label}
              description={hint}
              min={name === 'minItems' ? 1 : 0}
              max={name === 'minPassRate' ? 100 : 10_000}
              required={name === 'minItems'}
              suffix={name === 'minPassRate' ? '%' : ''}
              value={draft[name]}
              onChange={value => change({ [name]: value })}
              error={faults.of(name)}
            />
          ))}
          <TextInput
            label="Split"
            required
            value={draft.split}
            onChange={({ currentTarget }) => change({ split: currentTarget.value })}
            error={faults.of('split')}
          />
          <Switch
            label="Let a model judge unjudged items"
            description="An item without a person's decision counts as passed if the configured model says that the outputs mean the same thing; otherwise, it counts as failed. A model can be wrong, and text in an output can mislead it. A person's decision takes precedence. When an experiment on this step finishes, the inputs and outputs of its unjudged items are sent to the model."
            checked={draft.allowJudge}
            onChange={({ currentTarget }) => change({ allowJudge: currentTarget.checked })}
          />
          <Switch
            label="Roll back a worse version"
            description={`If reviewers accept a new version's outputs less often than the previous version's, the previous version becomes active again. This requires at least ${MIN_ROLLBACK_LOOK} decisions on the new version, and happens at most once for each version.`}
            checked={draft.autoRollback}
            onChange={({ currentTarget }) => change({ autoRollback: currentTarget.checked })}
          />
        </>
      )}
    </DialogForm>
  )
}

const draftOf = (gate: Gate | null): Draft => ({
  minItems: gate ? gate.minItems : 10,
  minPassRate: gate?.minPassRate == null ? '' : Math.round(gate.minPassRate * 10_000) / 100,
  maxRegressed: gate ? (gate.maxRegressed ?? '') : 0,
  maxUnjudged: gate?.maxUnjudged ?? '',
  maxAgeDays: gate?.maxAgeDays ?? '',
  split: gate?.split ?? 'test',
  allowJudge: gate?.allowJudge ?? false,
  autoRollback: gate?.autoRollback ?? false,
})

function conditionsOf({
  minItems,
  minPassRate,
  maxRegressed,
  maxUnjudged,
  maxAgeDays,
  ...settings
}: Draft): GateConditions {
  const numberOf = (value: number | string) => (value === '' ? null : Number(value))
  const percent = numberOf(minPassRate)
  return {
    minItems: Number(minItems),
    minPassRate: percent === null ? null : percent / 100,
    maxRegressed: numberOf(maxRegressed),
    maxUnjudged: numberOf(maxUnjudged),
    maxAgeDays: numberOf(maxAgeDays),
    split: settings.split.trim(),
    allowJudge: settings.allowJudge,
    autoRollback: settings.autoRollback,
  }
}

/** Removes a step's gate. */
export function DeleteGate({ text }: { text: VersionedText }) {
  const projectId = useProjectId() ?? ''
  return (
    <DialogForm
      trigger={open => <IconTrigger label="Remove the gate" Icon={IconTrash} size={22} onClick={open} />}
      title="Remove the gate?"
      initial={{}}
      button={() => ({ act: 'Remove the gate', isDestructive: true })}
      send={() => deleteGate(projectId, text.name)}
      onDone={() => refreshTexts(PROMPTS, text.id)}
      notice={() => 'Gate removed.'}
    >
      {() => <Text size="sm">Any version of this step's prompt can then become active without an experiment.</Text>}
    </DialogForm>
  )
}
