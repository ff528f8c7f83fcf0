import { Input } from '@mantine/core'
import { CodeEditor } from '../code/index.tsx'

interface FieldProps {
  value: string
  onChange: (value: string) => void
  error?: string | undefined
}

/** The text of a version. */
export const ContentField = ({ value, onChange, error }: FieldProps) => (
  <Input.Wrapper label="Content" labelElement="div" error={error} withAsterisk>
    <CodeEditor value={value} onChange={onChange} label="Content" language="text" minHeight="14rem" maxHeight="55vh" />
  </Input.Wrapper>
)

/** The JSON Schema of a step's output, as text. */
export const SchemaField = ({ value, onChange, error }: FieldProps) => (
  <Input.Wrapper
    label="Output schema"
    labelElement="div"
    description="JSON Schema of the step's output: reviewers get a form made from it, and corrections are checked against it. Empty: any output."
    error={error}
  >
    <CodeEditor value={value} onChange={onChange} label="Output schema" minHeight="8rem" maxHeight="40vh" />
  </Input.Wrapper>
)
