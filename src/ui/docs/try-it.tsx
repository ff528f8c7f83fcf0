import { Button, Group, NativeSelect, Textarea, TextInput } from '@mantine/core'
import { type FormEvent, useId, useState } from 'react'
import type { Json } from '../api/wire.ts'
import { JsonView } from '../json/json-view.tsx'
import { CopyIcon } from '../parts/copied-code.tsx'
import { curlOfRequest } from '../parts/curl.ts'
import classes from './docs.module.css'
import type { Endpoint, Parameter } from './document.ts'
import { fieldOf, type Received, requestOf, send } from './request.ts'
import { Unfolding } from './unfolding.tsx'

interface TryItProps {
  endpoint: Endpoint
  apiKey: string
}

/** Sends a request to this service and shows the response. */
export function TryIt({ endpoint, apiKey }: TryItProps) {
  const example = endpoint.requestBody?.content['application/json']?.example
  const [parameters, setParameters] = useState<Readonly<Record<string, string>>>({})
  const [body, setBody] = useState(example === undefined ? '' : JSON.stringify(example, undefined, 2))
  const [isSending, setIsSending] = useState(false)
  const [outcome, setOutcome] = useState<Received | string>()
  const title = useId()
  const request = requestOf(endpoint, { key: apiKey, parameters, body })

  const submit = async (event: FormEvent) => {
    event.preventDefault()
    setIsSending(true)
    setOutcome(
      await send(request).catch((error: unknown) => `No response: ${error instanceof Error ? error.message : error}`),
    )
    setIsSending(false)
  }

  return (
    <section aria-labelledby={title}>
      <h4 id={title}>Try it</h4>
      <form onSubmit={submit} className={classes.form}>
        {endpoint.parameters.map(parameter => (
          <ParameterInput
            key={fieldOf(parameter)}
            parameter={parameter}
            value={parameters[fieldOf(parameter)] ?? ''}
            onChange={value => setParameters(current => ({ ...current, [fieldOf(parameter)]: value }))}
          />
        ))}
        {endpoint.requestBody && (
          <Textarea
            label="Body"
            value={body}
            onChange={event => setBody(event.currentTarget.value)}
            autosize
            minRows={3}
            maxRows={20}
            spellCheck={false}
            classNames={{ input: classes.code }}
          />
        )}
        <Group gap="xs">
          <Button type="submit" size="xs" loading={isSending}>
            Send
          </Button>
          <CopyIcon text={() => curlOfRequest(request)} label="Copy as curl" />
        </Group>
      </form>
      <div role="status">
        {outcome !== undefined && (typeof outcome === 'string' ? <p>{outcome}</p> : <Outcome received={outcome} />)}
      </div>
    </section>
  )
}

interface ParameterInputProps {
  parameter: Parameter
  value: string
  onChange: (value: string) => void
}

function ParameterInput({ parameter, value, onChange }: ParameterInputProps) {
  const { name, required = false, explode, schema } = parameter
  const common = { label: name, required, withAsterisk: required, value, size: 'xs' as const }
  return schema.enum ? (
    <NativeSelect
      {...common}
      data={['', ...schema.enum.map(String)]}
      onChange={event => onChange(event.currentTarget.value)}
    />
  ) : (
    <TextInput
      {...common}
      placeholder={explode ? 'field=value&field=value' : undefined}
      onChange={event => onChange(event.currentTarget.value)}
    />
  )
}

function Outcome({ received: { status, milliseconds, headers, text } }: { received: Received }) {
  const value = parsed(text)
  return (
    <div className={classes.outcome}>
      <p>
        <strong className={status < 400 ? classes.good : classes.bad}>{status}</strong> after {milliseconds} ms
      </p>
      {value !== undefined ? (
        <JsonView value={value} label="the response" maxHeight="40vh" />
      ) : (
        <pre className={classes.example}>{text.slice(0, MAX_SHOWN_LENGTH)}</pre>
      )}
      <Unfolding title="Headers">
        {() => <pre className={classes.example}>{headers.map(([name, value]) => `${name}: ${value}`).join('\n')}</pre>}
      </Unfolding>
    </div>
  )
}

/** Applies to responses that aren't JSON, such as files and errors from a proxy in front of the service. */
const MAX_SHOWN_LENGTH = 10_000

/** Undefined if the text isn't JSON. */
function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
