import { TextInput } from '@mantine/core'
import { IconPencil } from '../icons/index.ts'
import { DialogForm, IconTrigger } from '../parts/dialog-form.tsx'
import type { TextKind, VersionedText } from './kinds.ts'
import { changeTitle, refreshTexts } from './writes.ts'

/** Changes a text's title. */
export const EditTitle = ({ kind, text }: { kind: TextKind; text: VersionedText }) => (
  <DialogForm
    trigger={open => <IconTrigger label="Edit title" Icon={IconPencil} size={30} onClick={open} />}
    title="Edit title"
    initial={{ title: text.title ?? '' }}
    fields={['title']}
    button={({ title }) => ({ act: 'Save', isDisabled: title.trim() === '' })}
    send={({ title }) => changeTitle(kind, text.id, title.trim())}
    onDone={() => refreshTexts(kind, text.id)}
    notice={() => 'Title changed.'}
  >
    {({ title }, change, faults) => (
      <TextInput
        label="Title"
        description={`The slug ${text.name} doesn't change.`}
        required
        data-autofocus
        value={title}
        onChange={({ currentTarget }) => change({ title: currentTarget.value })}
        error={faults.of('title')}
      />
    )}
  </DialogForm>
)
