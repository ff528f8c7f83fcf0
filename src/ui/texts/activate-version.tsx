import { Button, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useState } from 'react'
import { DialogForm } from '../parts/dialog-form.tsx'
import { useIsPerson } from '../parts/scopes.tsx'
import { useSubmission } from '../parts/use-submission.ts'
import { GateResult } from './gate-section.tsx'
import type { TextKind, Version, VersionedText } from './kinds.ts'
import { OverrideReason } from './override-reason.tsx'
import { useGateState } from './use-gate-state.ts'
import { activateVersion, refreshTexts } from './writes.ts'

interface ActivateVersionProps {
  kind: TextKind
  text: VersionedText
  version: Version
  /** Whether it's the page's main action. If so, the gate's state loads with the dialog. */
  isProminent?: boolean
  /** Runs before the dialog closes, once the version is active. */
  onDone?: () => Promise<unknown>
}

/** Activates a version, or goes back to one that was active before. */
export const ActivateVersion = (props: ActivateVersionProps) =>
  props.version.wasActive ? <RollBack {...props} /> : <Activate {...props} />

const noticeOf = ({ number }: Version): string => `Version ${number} is now active.`

/** Goes back to an earlier version immediately, because something may be wrong in production. */
function RollBack({ kind, text, version, isProminent = false, onDone }: ActivateVersionProps) {
  const { submit, isPending } = useSubmission({
    send: async () => {
      await activateVersion(kind, text.id, version.id)
      await Promise.all([refreshTexts(kind, text.id), onDone?.()])
    },
    onDone: () => notifications.show({ message: noticeOf(version) }),
    onFault: ({ message }) => notifications.show({ color: 'red', title: "Couldn't activate the version", message }),
  })
  return (
    <Button size="xs" variant={isProminent ? 'filled' : 'light'} loading={isPending} onClick={() => submit(undefined)}>
      {actOf(text, version)}
    </Button>
  )
}

function actOf({ versions }: VersionedText, { number }: Version): string {
  const active = versions.find(({ isActive }) => isActive)
  return `${active && active.number > number ? 'Roll back to' : 'Activate'} version ${number}`
}

/** Explains the consequences first. For a version that doesn't meet the gate, a person has to give a reason. */
function Activate({ kind, text, version, isProminent = false, onDone }: ActivateVersionProps) {
  const [isAsked, setAsked] = useState(!isProminent)
  const { data: state } = useGateState(text, version, isAsked)
  const isPerson = useIsPerson()
  const isUnmet = state?.met === false
  const act = actOf(text, version)
  return (
    <DialogForm
      trigger={open => (
        <Button size="xs" variant={isProminent ? 'filled' : isUnmet ? 'default' : 'light'} onClick={open}>
          {act}
        </Button>
      )}
      title={`${act}?`}
      initial={{ reason: '' }}
      fields={['override']}
      button={({ reason }) => ({
        act: isUnmet ? 'Activate anyway' : act,
        isDestructive: isUnmet,
        isDisabled: isUnmet && (!isPerson || reason.trim() === ''),
      })}
      send={({ reason }) => activateVersion(kind, text.id, version.id, reason.trim())}
      // Another version may be active by now.
      onOpen={() => {
        setAsked(true)
        return refreshTexts(kind, text.id)
      }}
      onDone={() => Promise.all([refreshTexts(kind, text.id), onDone?.()])}
      notice={() => noticeOf(version)}
    >
      {({ reason }, change, faults) => (
        <>
          <WhatChanges kind={kind} text={text} version={version} />
          {isUnmet && <GateResult state={state} />}
          {isUnmet && !isPerson && <Text size="sm">Only people can override a gate.</Text>}
          {isUnmet && isPerson && (
            <OverrideReason
              value={reason}
              onChange={value => change({ reason: value })}
              error={faults.of('override')}
            />
          )}
        </>
      )}
    </DialogForm>
  )
}

function WhatChanges({ kind, text, version }: ActivateVersionProps) {
  const active = text.versions.find(({ isActive }) => isActive)
  return (
    <>
      <Text size="sm">
        {active
          ? `Version ${version.number} will replace version ${active.number} as the active version.`
          : `Version ${version.number} will become the active version.`}{' '}
        {kind.readers}
      </Text>
      <Text size="sm" c="dimmed">
        Existing spans and reviews don't change. You can switch back at any time.
      </Text>
    </>
  )
}
