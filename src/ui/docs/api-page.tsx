import { PasswordInput, TextInput } from '@mantine/core'
import { useEffect, useMemo, useState } from 'react'
import classes from './docs.module.css'
import { type ApiDocument, type Endpoint, endpointsByTag } from './document.ts'
import { EndpointItem, Method } from './endpoint-item.tsx'
import { Prose } from './prose.tsx'

/** The API reference. Clicking an endpoint, or putting its ID in the URL's hash, opens it. */
export function ApiPage({ document }: { document: ApiDocument }) {
  const [apiKey, setApiKey] = useState('')
  const [filter, setFilter] = useState('')
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set())
  const groups = useMemo(() => endpointsByTag(document), [document])
  const shown = [...groups]
    .map(([tag, endpoints]) => ({ tag, endpoints: endpoints.filter(endpoint => matches(endpoint, filter)) }))
    .filter(({ endpoints }) => endpoints.length > 0)

  const toggle = (id: string, isOpen: boolean) =>
    setOpened(current => {
      if (current.has(id) === isOpen) return current
      const next = new Set(current)
      if (!next.delete(id)) next.add(id)
      return next
    })

  useEffect(() => {
    const openNamed = () => {
      const id = decodeURIComponent(location.hash.slice(1))
      if (id === '') return
      setOpened(current => new Set([...current, id]))
      globalThis.document.getElementById(id)?.scrollIntoView()
    }
    openNamed()
    addEventListener('hashchange', openNamed)
    return () => removeEventListener('hashchange', openNamed)
  }, [])

  return (
    <div className={classes.page}>
      <Navigation groups={shown} />
      <main className={classes.main}>
        <h1>{document.info.title} API</h1>
        <Prose text={document.info.description} />
        <p>
          This page shows <a href="/openapi.json">openapi.json</a>, an OpenAPI 3.1 document.
        </p>
        <div className={classes.settings}>
          <PasswordInput
            label="API key or admin token"
            description="Sent with requests from this page and never stored. If you leave it empty, your app session is used."
            value={apiKey}
            onChange={event => setApiKey(event.currentTarget.value.trim())}
            autoComplete="off"
          />
          <TextInput
            label="Filter"
            description="Search by path, method, or description"
            value={filter}
            onChange={event => setFilter(event.currentTarget.value)}
          />
        </div>
        {shown.map(({ tag, endpoints }) => (
          <section key={tag} className={classes.tag}>
            <h2>{tag}</h2>
            {endpoints.map(endpoint => (
              <EndpointItem
                key={endpoint.operationId}
                endpoint={endpoint}
                schemas={document.components.schemas}
                apiKey={apiKey}
                isOpen={opened.has(endpoint.operationId)}
                onToggle={isOpen => toggle(endpoint.operationId, isOpen)}
              />
            ))}
          </section>
        ))}
        {shown.length === 0 && <p role="status">No endpoints match the filter.</p>}
      </main>
    </div>
  )
}

const Navigation = ({ groups }: { groups: readonly { tag: string; endpoints: readonly Endpoint[] }[] }) => (
  <nav className={classes.nav} aria-label="Endpoints">
    {groups.map(({ tag, endpoints }) => (
      <section key={tag}>
        <h2>{tag}</h2>
        {endpoints.map(({ operationId, method, path }) => (
          <a key={operationId} href={`#${operationId}`}>
            <Method method={method} /> <span>{path}</span>
          </a>
        ))}
      </section>
    ))}
  </nav>
)

const matches = ({ method, path, summary, description, tags }: Endpoint, filter: string): boolean =>
  `${method} ${path} ${summary} ${description ?? ''} ${tags}`.toLowerCase().includes(filter.trim().toLowerCase())
