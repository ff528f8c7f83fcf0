import { Select, Textarea, TextInput } from '@mantine/core'
import { IconPencil } from '../icons/index.ts'
import { AddTrigger, DialogForm, IconTrigger } from '../parts/dialog-form.tsx'
import { type ErrorType, putErrorType, refreshErrorTypes } from './writes.ts'

interface ErrorTypeFormProps {
  projectId: string
  /** All of the project's error types. */
  errorTypes: readonly ErrorType[]
  /** The custom error type to edit; undefined to add one. */
  own?: ErrorType
}

type Draft = Pick<ErrorType, 'errorType' | 'name' | 'category' | 'rule' | 'isEnabled'>

const CATEGORIES = ['AI Error', 'User Error', 'Human Error'] as const satisfies readonly ErrorType['category'][]
const EMPTY: Draft = { errorType: '', name: '', category: 'AI Error', rule: '', isEnabled: true }

/** Adds an error type to a project, or changes one. */
export function ErrorTypeForm({ projectId, errorTypes, own }: ErrorTypeFormProps) {
  // Sending an identifier that's in use would change the existing error type.
  const isTaken = ({ errorType }: Draft) => !own && errorTypes.some(type => type.errorType === errorType.trim())
  const label = own ? `Edit ${own.name}` : 'New error type'
  return (
    <DialogForm
      trigger={open =>
        own ? (
          <IconTrigger label={label} Icon={IconPencil} onClick={open} />
        ) : (
          <AddTrigger label={label} onClick={open} />
        )
      }
      title={label}
      initial={own ?? EMPTY}
      fields={['errorType', 'name', 'category', 'rule']}
      button={draft => ({ act: own ? 'Save' : 'Add error type', isDisabled: isTaken(draft) })}
      send={({ errorType, name, category, rule, isEnabled }: Draft) =>
        putErrorType(projectId, errorType.trim(), { name: name.trim(), category, rule, isEnabled })
      }
      onDone={refreshErrorTypes}
      notice={({ name }) => (own ? `Changes to ${name} saved.` : `${name} added.`)}
    >
      {(draft, change, faults) => (
        <>
          <TextInput
            label="Name"
            required
            data-autofocus
            value={draft.name}
            onChange={({ currentTarget }) => change({ name: currentTarget.value })}
            error={faults.of('name')}
          />
          <TextInput
            label="Identifier"
            description="Its name in the API: lowercase words joined by underscores. You can't change it later."
            placeholder="wrong_tone"
            required
            readOnly={own !== undefined}
            value={draft.errorType}
            onChange={({ currentTarget }) => change({ errorType: currentTarget.value })}
            error={isTaken(draft) ? 'An error type with this identifier already exists' : faults.of('errorType')}
          />
          <Select
            label="Category"
            data={CATEGORIES}
            allowDeselect={false}
            value={draft.category}
            onChange={category => category !== null && change({ category })}
            error={faults.of('category')}
          />
          <Textarea
            label="When it applies"
            description="One or two sentences that tell the engine and reviewers when to choose this error type."
            autosize
            minRows={3}
            maxRows={10}
            required
            value={draft.rule}
            onChange={({ currentTarget }) => change({ rule: currentTarget.value })}
            error={faults.of('rule')}
          />
        </>
      )}
    </DialogForm>
  )
}
