import { Fragment } from 'react'
import classes from './docs.module.css'
import type { Answer, Endpoint } from './document.ts'
import { Field, Fields } from './fields.tsx'
import { Inline } from './prose.tsx'
import type { Schemas } from './schema.ts'
import { TryIt } from './try-it.tsx'
import { Unfolding } from './unfolding.tsx'

interface EndpointItemProps {
  endpoint: Endpoint
  schemas: Schemas
  apiKey: string
  isOpen: boolean
  onToggle: (isOpen: boolean) => void
}

/** An endpoint on one line, which expands to show its parameters, its schemas, and a form to try it. */
export const EndpointItem = ({ endpoint, schemas, apiKey, isOpen, onToggle }: EndpointItemProps) => (
  <details
    id={endpoint.operationId}
    className={classes.endpoint}
    open={isOpen}
    onToggle={event => onToggle(event.currentTarget.open)}
  >
    <summary>
      <h3>
        <Method method={endpoint.method} /> <code>{endpoint.path}</code>
        <span className={classes.summary}>
          <Inline text={endpoint.summary} />
        </span>
      </h3>
    </summary>
    {isOpen && (
      <div className={classes.columns}>
        <Description endpoint={endpoint} schemas={schemas} />
        <TryIt endpoint={endpoint} apiKey={apiKey} />
      </div>
    )}
  </details>
)

export const Method = ({ method }: { method: string }) => (
  <span className={classes.method} data-method={method}>
    {method}
  </span>
)

function Description({ endpoint, schemas }: Pick<EndpointItemProps, 'endpoint' | 'schemas'>) {
  const body = endpoint.requestBody?.content['application/json']
  return (
    <div>
      {endpoint.description && (
        <p>
          <Inline text={endpoint.description} />
        </p>
      )}
      <p className={classes.quiet}>{credentials(endpoint)}</p>
      {endpoint.parameters.length > 0 && (
        <>
          <h4>Parameters</h4>
          <ul className={classes.fields}>
            {endpoint.parameters.map(({ name, in: place, required = false, description, schema }) => (
              <Field
                key={`${place} ${name}`}
                name={name}
                field={{ ...schema, description: [`In the ${place}.`, description].filter(Boolean).join(' ') }}
                isRequired={required}
                schemas={schemas}
              />
            ))}
          </ul>
        </>
      )}
      {body && (
        <>
          <h4>Body</h4>
          <Fields schema={body.schema} schemas={schemas} />
        </>
      )}
      <h4>Responses</h4>
      {Object.entries(endpoint.responses).map(([status, answer]) => (
        <Unfolding
          key={status}
          title={
            <>
              <code>{status}</code> <Inline text={answer.description} />
            </>
          }
        >
          {() => <AnswerDetail answer={answer} schemas={schemas} />}
        </Unfolding>
      ))}
    </div>
  )
}

/** The credentials that a call requires. */
function credentials({ security }: Endpoint): string {
  if (security.length === 0) return "Doesn't require a key."
  const schemes = security.flatMap(Object.keys)
  if (schemes.includes('adminToken')) return 'Requires the admin token.'
  return schemes.includes('session') ? 'Requires a key or an app session.' : 'Requires a key.'
}

function AnswerDetail({ answer: { headers = {}, content = {} }, schemas }: { answer: Answer; schemas: Schemas }) {
  return (
    <>
      {Object.entries(headers).map(([name, { description }]) => (
        <div key={name}>
          <code>{name}</code> <span className={classes.quiet}>{description}</span>
        </div>
      ))}
      {Object.entries(content).map(([type, body]) => (
        <Fragment key={type}>
          {type === JSON_TYPE ? (
            <Fields schema={body.schema} schemas={schemas} />
          ) : (
            <p>
              A file, <code>{type}</code>:
            </p>
          )}
          {body.example !== undefined && (
            // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so a keyboard must reach it
            <pre className={classes.example} tabIndex={0}>
              {type === JSON_TYPE ? JSON.stringify(body.example, undefined, 2) : String(body.example)}
            </pre>
          )}
        </Fragment>
      ))}
    </>
  )
}

const JSON_TYPE = 'application/json'
