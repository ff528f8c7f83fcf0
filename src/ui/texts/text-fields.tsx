import { Input } from '@mantine/core'
import { CodeEditor } from '../code/index.tsx'
import classes from './text-fields.module.css'

interface FieldProps {
  value: string
  onChange: (value: string) => void
  error?: string | undefined
}

/** The text of a version. */
export const ContentField = ({ value, onChange, error }: FieldProps) => (
  <Input.Wrapper label="Content" labelElement="div" error={error} withAsterisk>
    <div className={classes.editor}>
      <CodeEditor
        value={value}
        onChange={onChange}
        label="Content"
        language="text"
        minHeight="14rem"
        maxHeight="55vh"
      />
    </div>
  </Input.Wrapper>
)

/** The JSON Schema of a step's output, as text. */
export const SchemaField = ({ value, onChange, error }: FieldProps) => (
  <Input.Wrapper
    label="Output schema"
    labelElement="div"
    description="A JSON Schema for the step's output. Reviewers edit outputs in a form based on it, and corrections must match it. {} allows any output."
    error={error}
  >
    <div className={classes.editor}>
      <CodeEditor value={value} onChange={onChange} label="Output schema" minHeight="8rem" maxHeight="40vh" />
    </div>
  </Input.Wrapper>
)
