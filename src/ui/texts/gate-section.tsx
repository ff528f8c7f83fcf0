import { Button, Group, List, Stack, Text, Title } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { pathWith } from '../api/client.ts'
import type { GateState } from '../api/wire.ts'
import { ModelAgreement } from '../experiments/model-agreement.tsx'
import { judgmentsQuery } from '../experiments/queries.ts'
import { IconCheck, IconFlask } from '../icons/index.ts'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { count, counted, itemCount } from '../parts/format.ts'
import { useIsPerson, useMay } from '../parts/scopes.tsx'
import { TextLink } from '../parts/text-link.tsx'
import { useProject } from '../session/project.ts'
import { DeleteGate, GateForm } from './gate-form.tsx'
import { requirementsOf, shortfallsOf } from './gate-words.ts'
import type { Version, VersionedText } from './kinds.ts'
import { useGateState } from './use-gate-state.ts'
import classes from './version-view.module.css'

interface GateSectionProps {
  text: VersionedText
  version: Version
}

/** A prompt's gate, and the conditions that this version doesn't meet. */
export function GateSection({ text, version }: GateSectionProps) {
  const mayManage = useMay('manage')
  const isPerson = useIsPerson()
  const { gate } = text
  return (
    <section aria-label="Gate" className={classes.box}>
      <Group justify="space-between" className={classes.bar} wrap="nowrap">
        <Title order={3}>Gate</Title>
        {mayManage && isPerson && (
          <Group gap={4} wrap="nowrap">
            <GateForm text={text} />
            {gate && <DeleteGate text={text} />}
          </Group>
        )}
      </Group>
      <Stack gap={6} p="xs" fz="sm">
        <Text size="sm" c="dimmed">
          {gate
            ? `Before a version can become active, it needs an experiment that ${requirementsOf(gate)}.${gate.allowJudge ? " The model's judgment counts for items that nobody has judged." : ''}${gate.autoRollback ? ' A new version that turns out to be worse than the previous one is rolled back.' : ''}`
            : 'This step has no gate, so any version can become active.'}
        </Text>
        {gate && !version.isActive && <Standing text={text} version={version} />}
        {gate && <Agreement text={text} />}
        <RunExperiment text={text} version={version} />
      </Stack>
    </section>
  )
}

/** Whether a version can become active. */
function Standing({ text, version }: GateSectionProps) {
  const { data: state, error, refetch } = useGateState(text, version)
  if (version.wasActive)
    return <Text size="sm">Version {version.number} was active before, so it can become active again.</Text>
  if (error && !state) return <FaultAlert error={error} title="Couldn't load the gate's state" onRetry={refetch} />
  return state ? <GateResult state={state} /> : null
}

/** How often a model agrees with people on the step. */
function Agreement({ text }: { text: VersionedText }) {
  const project = useProject()
  const { data } = useInfiniteQuery(judgmentsQuery(project, text.name))
  const agreement = data?.pages[0]?.agreement
  if (!agreement) return null
  const pathTo = (filter: object) => pathWith('/experiments/agreement', { project, stepId: text.name, ...filter })
  if (agreement.of > 0) return <ModelAgreement agreement={agreement} pathTo={pathTo} />
  return text.gate?.allowJudge ? (
    <Text size="sm" c="dimmed">
      Nobody has decided on an output that the model judged, so it's not known how often the model agrees with people.
    </Text>
  ) : null
}

/** Whether a version meets a gate and, if it doesn't, what it lacks. */
export function GateResult({ state, isOnReport = false }: { state: GateState; isOnReport?: boolean }) {
  const project = useProject()
  const { met, experimentId, gate, judging } = state
  // A report shows figures for other splits next to this result.
  const where = isOnReport ? ` for the ${gate.split} split` : ''
  return (
    <Text component="div" size="sm" role="status">
      <Group gap={6}>
        {met && <IconCheck size={14} aria-hidden className={classes.met} />}
        <b>{(met ? 'The gate is met' : "The gate isn't met") + where}</b>
        {experimentId !== null && !isOnReport && (
          <TextLink href={pathWith(`/experiments/${experimentId}`, { project })} underline="always">
            See the experiment
          </TextLink>
        )}
      </Group>
      {judging && <JudgingState judging={judging} />}
      {!met && (
        <List size="sm">
          {shortfallsOf(state).map(sentence => (
            <List.Item key={sentence}>{sentence}</List.Item>
          ))}
        </List>
      )}
    </Text>
  )
}

/** The model's judgments that the gate's figures include. */
function JudgingState({ judging: { same, different, waiting, job } }: { judging: NonNullable<GateState['judging']> }) {
  const isPending = job?.status === 'pending'
  return (
    <Text size="xs" c="dimmed">
      {same + different > 0 &&
        `According to the model, ${counted(same, 'unjudged item')} ${same === 1 ? 'counts' : 'count'} as passed, and ${count(different)} as failed. `}
      {waiting > 0 &&
        `${itemCount(waiting)} ${isPending ? `${waiting === 1 ? 'is' : 'are'} waiting for the model` : `${waiting === 1 ? 'has' : 'have'} no judgment from the model`}.`}
      {job?.status === 'failed' && job.failure !== null && ` ${job.failure}.`}
    </Text>
  )
}

function RunExperiment({ text, version }: GateSectionProps) {
  const mayReview = useMay('review')
  const project = useProject()
  return (
    <Group gap="xs">
      {mayReview && (
        <Button
          component={Link}
          href={pathWith('/experiments/new', { stepId: text.name, promptVersionId: version.id, project })}
          size="xs"
          variant="default"
          leftSection={<IconFlask size={14} aria-hidden />}
        >
          Run an experiment
        </Button>
      )}
      <TextLink href={pathWith('/experiments', { promptVersionId: version.id, project })}>
        Experiments with this version
      </TextLink>
    </Group>
  )
}
