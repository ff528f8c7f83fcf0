import '@mantine/dates/styles.css'
import { createTheme, MantineThemeProvider, Text } from '@mantine/core'
import { Form } from '@rjsf/mantine'
import type { DescriptionFieldProps, RJSFSchema, UnsupportedFieldProps } from '@rjsf/utils'
import { useEffect, useRef } from 'react'
import type { Json } from '../../api/wire.ts'
import { ShownText } from '../../json/shown-text.tsx'
import { isSameValue } from '../json-text.ts'
import classes from './schema-form.module.css'
import { TextField } from './text-field.tsx'
import { validator } from './validator.ts'

export interface SchemaFormProps {
  schema: { [name: string]: Json }
  value: Json
  onChange: (value: Json) => void
}

/** Opening a form must not change the value: the schema's defaults aren't the reviewer's answers. */
const NO_DEFAULTS = {
  arrayMinItems: { populate: 'never' },
  emptyObjectFields: 'skipDefaults',
  allOf: 'skipDefaults',
  constAsDefaults: 'never',
} as const

const NO_HEADING = { 'ui:options': { label: false }, 'ui:submitButtonOptions': { norender: true } }

const TEMPLATES = { UnsupportedFieldTemplate: UndescribedField, DescriptionFieldTemplate: Description }
const WIDGETS = { TextWidget: TextField, TextareaWidget: TextField }

/** Matches the density of the rest of the page. */
const dense = createTheme({
  components: Object.fromEntries(
    [
      'TextInput',
      'Textarea',
      'NumberInput',
      'Select',
      'MultiSelect',
      'Checkbox',
      'Radio',
      'DateInput',
      'DateTimePicker',
      'Input',
      'InputWrapper',
    ].map(name => [name, { defaultProps: { size: 'xs' } }]),
  ),
})

/** A form for a value, generated from its schema. */
export function SchemaForm({ schema, value, onChange }: SchemaFormProps) {
  const form = useRef<HTMLDivElement>(null)
  // Like the other editors, the form takes focus.
  useEffect(() => form.current?.querySelector<HTMLElement>('input, textarea')?.focus(), [])
  return (
    <MantineThemeProvider theme={dense}>
      <div ref={form} className={classes.form}>
        <Form
          tagName="div"
          // The form accepts any object as a JSON Schema, and reports parts that it can't render.
          schema={schema as RJSFSchema}
          uiSchema={NO_HEADING}
          formData={value}
          validator={validator}
          onChange={({ formData }) => {
            const changed = asJson(formData)
            if (!isSameValue(changed, value)) onChange(changed)
          }}
          liveValidate="onChange"
          noHtml5Validate
          showErrorList={false}
          idPrefix="edited"
          templates={TEMPLATES}
          widgets={WIDGETS}
          experimental_defaultFormStateBehavior={NO_DEFAULTS}
        >
          {/* No submit button: the decision panel has it. */}
          <span />
        </Form>
      </div>
    </MantineThemeProvider>
  )
}

/** Smaller than the label that it belongs to. */
function Description({ id, description }: DescriptionFieldProps) {
  if (!description) return null
  return (
    <Text id={id} size="xs" c="dimmed" mb={4}>
      {typeof description === 'string' ? <ShownText text={description} /> : description}
    </Text>
  )
}

function UndescribedField({ fieldPathId }: UnsupportedFieldProps) {
  return (
    <Text size="sm" c="dimmed">
      The schema doesn't describe {fieldPathId.path.join('.')}. Edit it as JSON.
    </Text>
  )
}

/** Emptied fields are undefined, and absent from the JSON. */
const asJson = (data: unknown): Json => (data === undefined ? null : JSON.parse(JSON.stringify(data)))
