import { Textarea } from '@mantine/core'
import { ariaDescribedByIds, getTemplate, labelValue, type WidgetProps } from '@rjsf/utils'

/** Longer strings take the form's full width. */
const LONG_LENGTH = 40

/** A field for a string. rjsf also uses it for numbers. */
export function TextField(props: WidgetProps) {
  const BaseInput = getTemplate('BaseInputTemplate', props.registry, props.options)
  const isText = props.schema.type === 'string' && props.schema.format === undefined
  return isText ? <GrowingText {...props} /> : <BaseInput {...props} />
}

/** Grows with its text, which may be long. Clearing an optional field removes it; a required field becomes ''. */
function GrowingText(props: WidgetProps) {
  const { id, htmlName, name, value, required, label, hideLabel, rawErrors, schema, onChange } = props
  const text = typeof value === 'string' ? value : ''
  return (
    <div data-long={text.length > LONG_LENGTH || undefined}>
      <Textarea
        id={id}
        name={htmlName ?? name}
        label={labelValue(label, hideLabel)}
        description={schema.description}
        required={required ?? false}
        autosize
        minRows={1}
        maxRows={16}
        dir="auto"
        value={text}
        error={rawErrors?.join('\n')}
        aria-describedby={ariaDescribedByIds(id)}
        onChange={({ currentTarget }) =>
          onChange(currentTarget.value === '' && !required ? undefined : currentTarget.value)
        }
      />
    </div>
  )
}
