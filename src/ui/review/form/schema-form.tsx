import '@mantine/dates/styles.css'
import { createTheme, MantineThemeProvider, Text } from '@mantine/core'
import { Form } from '@rjsf/mantine'
import type { RJSFSchema, UnsupportedFieldProps } from '@rjsf/utils'
import { useEffect, useRef } from 'react'
import type { Json } from '../../api/wire.ts'
import { isSameValue } from '../json-text.ts'
import classes from './schema-form.module.css'
import { TextField } from './text-field.tsx'
import { validator } from './validator.ts'

export interface SchemaFormProps {
  schema: { [name: string]: Json }
  value: Json
  onChange: (value: Json) => void
}

/** An opened form changes nothing: what the schema has for a default is no word of the reviewer's. */
const NO_DEFAULTS = {
  arrayMinItems: { populate: 'never' },
  emptyObjectFields: 'skipDefaults',
  allOf: 'skipDefaults',
  constAsDefaults: 'never',
} as const

const NO_HEADING = { 'ui:options': { label: false }, 'ui:submitButtonOptions': { norender: true } }

const TEMPLATES = { UnsupportedFieldTemplate: Undrawable }
const WIDGETS = { TextWidget: TextField, TextareaWidget: TextField }

/** As dense as what stands around it. */
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

/** A form for a value, made from its schema. */
export function SchemaForm({ schema, value, onChange }: SchemaFormProps) {
  const form = useRef<HTMLDivElement>(null)
  // Whoever opened it begins to write, as in the other editors.
  useEffect(() => form.current?.querySelector<HTMLElement>('input, textarea')?.focus(), [])
  return (
    <MantineThemeProvider theme={dense}>
      <div ref={form} className={classes.form}>
        <Form
          tagName="div"
          // Whatever the schema is, it is one of JSON Schema's to the form, which says so where it cannot draw it.
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
          {/* No button of its own: the decision is beside it. */}
          <span />
        </Form>
      </div>
    </MantineThemeProvider>
  )
}

function Undrawable({ fieldPathId }: UnsupportedFieldProps) {
  return (
    <Text size="sm" c="dimmed">
      {fieldPathId.path.join('.')}: the schema does not say how to draw this. Edit it under JSON.
    </Text>
  )
}

/** What a field that was emptied leaves undefined is absent. */
const asJson = (data: unknown): Json => (data === undefined ? null : JSON.parse(JSON.stringify(data)))
