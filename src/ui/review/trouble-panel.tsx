import { Button, Code, Group, Stack, Text } from '@mantine/core'
import { useNames } from '../api/names.ts'
import type { SpanOfTrace } from '../api/wire.ts'
import { CodeDiff } from '../code/index.tsx'
import { IconUsers } from '../icons/index.ts'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { Warning } from '../parts/warning.tsx'
import { DecisionWords } from './decision-words.tsx'
import { textOf } from './json-text.ts'
import { FaultList } from './schema-warning.tsx'
import type { Trouble } from './sitting.ts'
import { whatChanged } from './what-changed.ts'

interface TroublePanelProps {
  trouble: Trouble
  /** The span as it is now. */
  span: SpanOfTrace
  onDecideAgain: () => void
  onLeave: () => void
  onForce: () => void
  onTakeOver: () => void
  onRetry: () => void
}

/** Why a decision failed, and how to continue. The draft is still there. */
export function TroublePanel({
  trouble,
  span,
  onDecideAgain,
  onLeave,
  onForce,
  onTakeOver,
  onRetry,
}: TroublePanelProps) {
  const { fault, request } = trouble
  if (fault.status === 412) {
    return <Conflict trouble={trouble} span={span} onDecideAgain={onDecideAgain} onLeave={onLeave} />
  }
  if (request !== 'reset' && fault.status === 422 && fault.details.length > 0) {
    return (
      <SchemaAlert
        message={fault.message}
        faults={fault.details}
        requestId={fault.requestId}
        onForce={onForce}
        onBack={onDecideAgain}
      />
    )
  }
  if (fault.heldBy !== undefined) {
    return <HeldWarning heldBy={fault.heldBy} onAskAgain={onRetry} onTakeOver={onTakeOver} />
  }
  return (
    <FaultAlert
      error={fault}
      title={request === 'reset' ? 'Not undone' : 'Not saved. Your draft is still here.'}
      onRetry={onRetry}
    />
  )
}

interface HeldWarningProps {
  /** Undefined if the only sign is a refused claim. */
  heldBy?: string
  onAskAgain: () => void
  onTakeOver: () => void
}

/** Says that someone else is reviewing the span, and offers to take over. */
export function HeldWarning({ heldBy, onAskAgain, onTakeOver }: HeldWarningProps) {
  const names = useNames([heldBy])
  const holder = heldBy !== undefined && names.get(heldBy)
  return (
    <Warning title="Another reviewer has this item" icon={<IconUsers size={16} aria-hidden />}>
      <Text size="sm" mb="xs">
        {holder && `${holder} is reviewing it. `}It becomes available when they decide or leave the page.
      </Text>
      <Group gap="xs">
        <Button size="xs" variant="default" onClick={onAskAgain}>
          Try again
        </Button>
        <Button size="xs" variant="default" onClick={onTakeOver}>
          Take over
        </Button>
      </Group>
    </Warning>
  )
}

interface SchemaAlertProps {
  message: string
  faults: readonly { path: string; message: string }[]
  requestId?: string
  onForce: () => void
  onBack: () => void
}

/** Where a value doesn't match its step's schema, with the option to approve it anyway. */
export const SchemaAlert = ({ message, faults, requestId, onForce, onBack }: SchemaAlertProps) => (
  <Warning isUrgent title="Not saved: this doesn't match the step's schema">
    <Stack gap="xs">
      {faults.length > 0 ? <FaultList faults={faults} /> : <Text size="sm">{message}</Text>}
      {requestId !== undefined && requestId !== '' && (
        <Text size="xs">
          Request <Code>{requestId}</Code>
        </Text>
      )}
      <Group gap="xs">
        <Button size="xs" variant="default" onClick={onBack}>
          Keep editing
        </Button>
        <Button size="xs" variant="default" onClick={onForce}>
          Save anyway
        </Button>
      </Group>
    </Stack>
  </Warning>
)

/** Says that the span changed while it was being reviewed. */
function Conflict({
  trouble,
  span,
  onDecideAgain,
  onLeave,
}: Pick<TroublePanelProps, 'span' | 'onDecideAgain' | 'onLeave' | 'trouble'>) {
  const { seen, request } = trouble
  const { isOutputOther, review } = whatChanged(seen, span)
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
        {isOutputOther && <Text size="sm">The output has changed since you looked at it.</Text>}
        {!review && !isOutputOther && <Text size="sm">The span changed, but its output and review didn't.</Text>}
        {isOutputOther && (
          <Compared
            label="The output you saw and the current output"
            before={textOf(seen.output)}
            after={textOf(span.output)}
          />
        )}
        {isReviewed && mine !== undefined && (
          <Compared label="The approved output and yours" before={textOf(span.approvedOutput)} after={textOf(mine)} />
        )}
        {request !== 'reset' && <Text size="sm">Your draft is still here.</Text>}
        <Group gap="xs">
          <Button size="xs" variant="default" onClick={onLeave}>
            Keep the current version
          </Button>
          <Button size="xs" variant="light" onClick={onDecideAgain}>
            Decide again
          </Button>
        </Group>
      </Stack>
    </Warning>
  )
}

const Compared = ({ label, before, after }: { label: string; before: string; after: string }) => (
  <div>
    <Text size="xs" c="dimmed">
      {label}
      {before === after && ': no difference'}
    </Text>
    {before !== after && <CodeDiff before={before} after={after} label={label} />}
  </div>
)
