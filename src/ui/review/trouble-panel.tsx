import { Button, Group, Stack, Text } from '@mantine/core'
import { useNames } from '../api/names.ts'
import type { SpanOfTrace } from '../api/wire.ts'
import { CodeDiff } from '../code/index.tsx'
import { IconUsers } from '../icons/index.ts'
import { FaultAlert, RequestId } from '../parts/fault-alert.tsx'
import { Warning } from '../parts/warning.tsx'
import { DecisionWords } from './decision-words.tsx'
import { textOf } from './json-text.ts'
import { FaultList } from './schema-warning.tsx'
import type { Trouble } from './sitting.ts'
import { whatChanged } from './what-changed.ts'

export interface TroubleActions {
  onDecideAgain: () => void
  onLeave: () => void
  onForce: () => void
  onTakeOver: () => void
  onRetry: () => void
}

interface TroublePanelProps {
  trouble: Trouble
  /** The span as it is now. */
  span: SpanOfTrace
  actions: TroubleActions
}

/** Shows why a decision failed, and how to continue. The draft is still there. */
export function TroublePanel({ trouble, span, actions }: TroublePanelProps) {
  const { fault, request } = trouble
  const { onDecideAgain, onForce, onTakeOver, onRetry } = actions
  if (fault.status === 412) return <Conflict trouble={trouble} span={span} actions={actions} />
  if (request !== 'reset' && fault.status === 422 && fault.details.length > 0) {
    return <SchemaAlert faults={fault.details} requestId={fault.requestId} onForce={onForce} onBack={onDecideAgain} />
  }
  if (fault.heldBy !== undefined) {
    return <HeldWarning heldBy={fault.heldBy} onRetry={onRetry} onTakeOver={onTakeOver} />
  }
  if (fault.status === 409) return <EnoughReviewers onSkip={actions.onLeave} onRetry={onRetry} />
  return (
    <FaultAlert
      error={fault}
      title={request === 'reset' ? "Couldn't undo the decision" : "Couldn't save. Your draft is still here."}
      onRetry={onRetry}
    />
  )
}

interface HeldWarningProps {
  /** The reviewer's ID, if it is known. */
  heldBy: string | undefined
  onRetry: () => void
  onTakeOver: () => void
}

/** Warns that someone else is reviewing the span, and offers to take over. */
export function HeldWarning({ heldBy, onRetry, onTakeOver }: HeldWarningProps) {
  const names = useNames([heldBy])
  const holder = heldBy !== undefined && names.get(heldBy)
  return (
    <Warning title="Another reviewer has this item" icon={<IconUsers size={16} aria-hidden />}>
      <Text size="sm" mb="xs">
        {holder && `${holder} is reviewing it. `}It will be available when they decide or leave the page.
      </Text>
      <Group gap="xs">
        <ChoiceButton label="Try again" onClick={onRetry} />
        <ChoiceButton label="Take over" onClick={onTakeOver} />
      </Group>
    </Warning>
  )
}

/** Explains that a span has as many votes and reviewers as it needs. */
const EnoughReviewers = ({ onSkip, onRetry }: { onSkip: () => void; onRetry: () => void }) => (
  <Warning title="This item has enough reviewers" icon={<IconUsers size={16} aria-hidden />}>
    <Text size="sm" mb="xs">
      Enough people have voted on it or are reviewing it now, so your vote isn't needed. Your draft is still here.
    </Text>
    <Group gap="xs">
      <ChoiceButton label="Skip it" isSuggested onClick={onSkip} />
      <ChoiceButton label="Try again" onClick={onRetry} />
    </Group>
  </Warning>
)

interface SchemaAlertProps {
  faults: readonly { path: string; message: string }[]
  requestId?: string
  onForce: () => void
  onBack: () => void
}

/** Shows where a value doesn't match its step's schema, with the option to approve it anyway. */
export const SchemaAlert = ({ faults, requestId = '', onForce, onBack }: SchemaAlertProps) => (
  <Warning isUrgent title="Couldn't save: the output doesn't match the step's schema">
    <Stack gap="xs">
      <FaultList faults={faults} />
      {requestId !== '' && <RequestId id={requestId} />}
      <Group gap="xs">
        <ChoiceButton label="Keep editing" onClick={onBack} />
        <ChoiceButton label="Save anyway" onClick={onForce} />
      </Group>
    </Stack>
  </Warning>
)

/** Warns that the span changed while it was being reviewed. */
function Conflict({ trouble, span, actions }: TroublePanelProps) {
  const { seen, request } = trouble
  const { hasOutputChanged, review } = whatChanged(seen, span)
  const mine = request === 'reset' ? undefined : (request.approvedOutput ?? seen.output)
  const isReviewed = span.review.state !== 'unreviewed'
  return (
    <Warning isUrgent title="This item has changed" icon={<IconUsers size={16} aria-hidden />}>
      <Stack gap="xs">
        {review && (
          <Text size="sm">
            <DecisionWords review={review} />.
          </Text>
        )}
        {hasOutputChanged && <Text size="sm">The output has changed since you opened it.</Text>}
        {!review && !hasOutputChanged && <Text size="sm">The span changed, but its output and review didn't.</Text>}
        {hasOutputChanged && (
          <Compared
            label="The output you saw and the current output"
            before={textOf(seen.output)}
            after={textOf(span.output)}
          />
        )}
        {isReviewed && mine !== undefined && (
          <Compared
            label="The approved output and your version"
            before={textOf(span.approvedOutput)}
            after={textOf(mine)}
          />
        )}
        {request !== 'reset' && <Text size="sm">Your draft is still here.</Text>}
        <Group gap="xs">
          <ChoiceButton label="Keep the current version" onClick={actions.onLeave} />
          <ChoiceButton label="Decide again" isSuggested onClick={actions.onDecideAgain} />
        </Group>
      </Stack>
    </Warning>
  )
}

const ChoiceButton = ({
  label,
  isSuggested = false,
  onClick,
}: {
  label: string
  isSuggested?: boolean
  onClick: () => void
}) => (
  <Button size="xs" variant={isSuggested ? 'light' : 'default'} onClick={onClick}>
    {label}
  </Button>
)

const Compared = ({ label, before, after }: { label: string; before: string; after: string }) => (
  <div>
    <Text size="xs" c="dimmed">
      {label}
      {before === after && ': no difference'}
    </Text>
    {before !== after && <CodeDiff before={before} after={after} label={label} />}
  </div>
)
