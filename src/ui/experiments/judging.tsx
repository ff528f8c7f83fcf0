import { Button, Group, Stack, Text } from '@mantine/core'
import { useSearchParams } from 'wouter'
import type { ExperimentReport } from '../api/wire.ts'
import { IconRobot } from '../icons/index.ts'
import { ShownText } from '../json/shown-text.tsx'
import { Counted } from '../parts/counted.tsx'
import { DialogForm } from '../parts/dialog-form.tsx'
import { count, itemCount } from '../parts/format.ts'
import { Moment } from '../parts/moment.tsx'
import { useMay } from '../parts/scopes.tsx'
import { type ItemFilter, withItemFilter } from './filters.ts'
import { ModelAgreement } from './model-agreement.tsx'
import { askModel } from './writes.ts'

/** A model's judgments of an experiment's unjudged items, and how often it agrees with people. */
export function Judging({ report }: { report: ExperimentReport }) {
  const { id, counts, judging, agreement, gate } = report
  const [address] = useSearchParams()
  const mayReview = useMay('review')
  const pathTo = (filter: ItemFilter) => `/experiments/${id}?${withItemFilter(filter)(address)}`
  const { same, different, waiting, unanswered, job } = judging
  if (counts.unjudged === 0 && agreement.of === 0) return null
  const isPending = job?.status === 'pending'
  const figures = [
    { value: same, label: 'same', filter: { judgment: 'same' } },
    { value: different, label: 'different', filter: { judgment: 'different' } },
    { value: waiting, label: 'not judged', filter: { judgment: 'none' } },
  ]
  return (
    <Stack component="section" gap={4} aria-label="Model judge">
      {counts.unjudged > 0 && (
        <Group gap="xs">
          <Text size="sm">
            <b>The model's view of the unjudged items:</b>{' '}
            {figures.map(({ value, label, filter }, index) => (
              <span key={label}>
                {index > 0 && ', '}
                <Counted
                  value={value}
                  path={pathTo({ outcome: 'unjudged', ...filter })}
                  label={`${count(value)} ${label}`}
                />{' '}
                {label}
              </span>
            ))}
            {unanswered > 0 && ` (the model couldn't judge ${itemCount(unanswered)})`}.
          </Text>
          {mayReview && waiting > 0 && !isPending && <AskModel report={report} />}
        </Group>
      )}
      {job && <JobState job={job} />}
      <ModelAgreement agreement={agreement} pathTo={pathTo} />
      <Text size="xs" c="dimmed" maw={760}>
        {gate?.gate.allowJudge
          ? "The counts above don't include the model's judgments, but the gate does."
          : "The counts above don't include the model's judgments. Only a person's decision changes them."}
      </Text>
    </Stack>
  )
}

/** The state of the job that asks the model. Renders nothing once it's done. */
function JobState({ job: { status, failure, waitsUntil } }: { job: NonNullable<ExperimentReport['judging']['job']> }) {
  if (status === 'done' || status === 'cancelled') return null
  return (
    <Text size="sm" role="status">
      {status === 'failed'
        ? "Couldn't ask the model"
        : waitsUntil === null
          ? 'Asking the model… This page updates automatically.'
          : 'The model will be asked again on '}
      {status === 'pending' && waitsUntil !== null && <Moment at={waitsUntil} precision="exact" />}
      {failure !== null && (
        <>
          : <ShownText text={failure} />
        </>
      )}
    </Text>
  )
}

function AskModel({ report: { id, judging } }: { report: ExperimentReport }) {
  return (
    <DialogForm
      trigger={open => (
        <Button size="compact-xs" variant="light" leftSection={<IconRobot size={14} aria-hidden />} onClick={open}>
          Ask the model
        </Button>
      )}
      title={`Ask the model about ${itemCount(judging.waiting)}?`}
      initial={{}}
      button={() => ({ act: 'Ask the model' })}
      send={() => askModel(id)}
    >
      {() => (
        <Text size="sm">
          For each unjudged item, this sends the step's name, the input, the expected outputs, and the candidate's
          output to the deployment's model, and asks whether the outputs mean the same thing. Each item takes one or two
          calls, which count toward the project's daily limit. The answer is shown next to the item, but it isn't a
          decision.
        </Text>
      )}
    </DialogForm>
  )
}
