import { Text } from '@mantine/core'
import { useLocation } from 'wouter'
import { queryClient } from '../api/query-client.ts'
import { IconTrash } from '../icons/index.ts'
import { DialogForm, IconTrigger } from '../parts/dialog-form.tsx'
import { TypedName } from '../parts/typed-name.tsx'
import type { TextKind, VersionedText } from './kinds.ts'
import { deleteText } from './writes.ts'

/** Deletes a text and all its versions, after the user types its name. */
export function DeleteText({ kind, text }: { kind: TextKind; text: VersionedText }) {
  const [, navigate] = useLocation()
  const label = `Delete ${kind.one}`
  return (
    <DialogForm
      trigger={open => <IconTrigger label={label} Icon={IconTrash} size={30} onClick={open} />}
      title={`${label}?`}
      initial={{ typed: '' }}
      button={({ typed }) => ({ act: label, isDestructive: true, isDisabled: typed !== text.name })}
      send={() => deleteText(kind, text.id)}
      onDone={() => {
        queryClient.removeQueries({ queryKey: ['texts', kind.key] })
        navigate(kind.path)
      }}
      notice={() => `${text.name} deleted.`}
    >
      {({ typed }, change) => (
        <>
          <Text size="sm">
            This deletes the {kind.one} and{' '}
            {text.versions.length === 1 ? 'its only version' : `its ${text.versions.length} versions`}. Pipelines can no
            longer request it. Spans and reviews are kept, with the IDs of the versions they used. You can't undo this.
          </Text>
          <TypedName name={text.name} value={typed} onChange={value => change({ typed: value })} />
        </>
      )}
    </DialogForm>
  )
}
