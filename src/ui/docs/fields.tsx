import classes from './docs.module.css'
import type { Schema } from './document.ts'
import { Inline } from './prose.tsx'
import { bounds, objectsIn, resolved, type Schemas, typeName } from './schema.ts'
import { Unfolding } from './unfolding.tsx'

interface FieldsProps {
  schema: Schema
  schemas: Schemas
}

/** The fields of a schema's object, or of each object if the schema has alternatives. */
export function Fields({ schema, schemas }: FieldsProps) {
  const objects = objectsIn(schema, schemas)
  const [only] = objects
  if (!only) return <p className={classes.quiet}>{typeName(resolved(schema, schemas))}</p>
  if (objects.length === 1) return <FieldList schema={only} schemas={schemas} />
  return objects.map((object, index) => (
    <Unfolding
      // biome-ignore lint/suspicious/noArrayIndexKey: the document never changes while it's shown
      key={index}
      title={objectName(object, index)}
    >
      {() => <FieldList schema={object} schemas={schemas} />}
    </Unfolding>
  ))
}

/** Labels an alternative with its constant field, or else with its position. */
function objectName({ properties = {} }: Schema, index: number): string {
  const constant = Object.entries(properties).find(([, field]) => field.const !== undefined)
  return constant ? `${constant[0]}: ${JSON.stringify(constant[1].const)}` : `Option ${index + 1}`
}

const FieldList = ({ schema: { properties = {}, required = [] }, schemas }: FieldsProps) => (
  <ul className={classes.fields}>
    {Object.entries(properties).map(([name, field]) => (
      <Field key={name} name={name} field={field} isRequired={required.includes(name)} schemas={schemas} />
    ))}
  </ul>
)

interface FieldProps {
  name: string
  field: Schema
  isRequired: boolean
  schemas: Schemas
}

/** A field or parameter, with its type, description, limits, and nested fields. */
export function Field({ name, field, isRequired, schemas }: FieldProps) {
  const limits = bounds(resolved(field, schemas))
  return (
    <li>
      <code className={classes.name}>{name}</code> <span className={classes.quiet}>{typeName(field)}</span>
      {isRequired && <span className={classes.required}> required</span>}
      {field.description !== undefined && (
        <div>
          <Inline text={field.description} />
        </div>
      )}
      {limits.length > 0 && <div className={classes.quiet}>{limits.join('; ')}</div>}
      {objectsIn(field, schemas).length > 0 && (
        <Unfolding title={`Fields in ${name}`}>{() => <Fields schema={field} schemas={schemas} />}</Unfolding>
      )}
    </li>
  )
}
