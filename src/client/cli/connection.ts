import { Bookmark } from '../bookmark.ts'
import { Countersign, type CountersignOptions } from '../countersign.ts'
import type { Fetch } from '../fetch.ts'
import { parametersOf } from '../parameters.ts'
import { type RequestOptions, Service } from '../service.ts'
import type { Login } from './config.ts'
import { Failure, invalid } from './failure.ts'
import type { Session } from './wire.ts'

/** How long a request may take. This is longer than the client's own timeout, because a person is waiting. */
const REQUEST_MS = 30_000

interface Project {
  id: string
  slug: string
}

/** A deployment, as a key sees it. */
export class Connection {
  readonly url: string
  readonly #login: Login
  readonly #service: Service
  readonly #bookmark = new Bookmark()
  #session: Promise<Session> | undefined

  constructor(login: Login) {
    this.#login = login
    this.#service = serviceOf(login, this.#bookmark)
    this.url = this.#service.baseUrl
  }

  /** Makes a call, with retries. `field` is a field that the response always has. */
  async call<Body extends object>(
    path: string,
    field: keyof Body & string,
    request: RequestOptions = {},
  ): Promise<Body> {
    return (await this.#service.read<Body>(path, field, { timeoutMs: REQUEST_MS, ...request })).body
  }

  /** Makes a call that must not be repeated, because each request has its own effect. */
  async callOnce<Body extends object>(
    path: string,
    field: keyof Body & string,
    request: RequestOptions,
  ): Promise<Body> {
    return (await this.#service.read<Body>(path, field, { timeoutMs: REQUEST_MS, ...request }, 1)).body
  }

  /** Opens a file. Reading it may still fail. */
  async open(path: string): Promise<{ body: ReadableStream<Uint8Array>; headers: Headers }> {
    let opened: { body: ReadableStream<Uint8Array>; headers: Headers } | undefined
    // `Service` retries only until the file begins. The file is read part by part, which may take minutes.
    const service = serviceOf(this.#login, this.#bookmark, async (url, init) => {
      const response = await fetch(url, init)
      if (!response.ok || !response.body) return response
      opened = { body: response.body, headers: response.headers }
      return Response.json({ isOpen: true })
    })
    await service.read<{ isOpen: true }>(path, 'isOpen', { timeoutMs: REQUEST_MS })
    if (!opened) throw new Error('a file was opened without a body')
    return opened
  }

  /** All items of a list, read page by page. */
  async *list<Item>(
    path: string,
    field: string,
    query: Parameters<typeof parametersOf>[0] = {},
  ): AsyncGenerator<Item, void, undefined> {
    for (let cursor: string | undefined | null; cursor !== null; ) {
      const page: { [list: string]: Item[] } & { nextCursor: string | null } = await this.call(
        `${path}?${parametersOf({ ...query, cursor })}`,
        field,
      )
      yield* page[field] ?? []
      cursor = page.nextCursor
    }
  }

  /** The client, for tasks that take more than a single call. */
  async client(options: Pick<CountersignOptions, 'flushIntervalMs'> = {}): Promise<Countersign> {
    const { url, key } = this.#login
    return new Countersign({ ...options, baseUrl: url, apiKey: key, projectSlug: await this.projectSlug() })
  }

  /** The service, for commands that make many calls about one project. */
  async service(): Promise<Service> {
    return serviceOf({ ...this.#login, project: await this.projectSlug() }, this.#bookmark)
  }

  /** Who the key acts for, and what it may do. */
  session(): Promise<Session> {
    this.#session ??= this.call<Session>('/api/session', 'scopes')
    return this.#session
  }

  /** The slug of the project that the command is about. */
  async projectSlug(): Promise<string> {
    if (this.#login.project !== undefined) return this.#login.project
    const { project, projects } = await this.session()
    const [only, ...others] = project ? [project] : projects
    if (only && others.length === 0) return only.slug
    if (!only) throw new Failure('missing', 'no_project', 'The organization has no projects')
    const slugs = [only, ...others].map(({ slug }) => slug)
    throw invalid(
      'The key can access several projects, and none was named',
      `Add --project <slug>, or set COUNTERSIGN_PROJECT. The projects are: ${shortList(slugs)}.`,
    )
  }

  /** The project that the command is about. */
  async project(): Promise<Project> {
    const slug = await this.projectSlug()
    const { projects } = await this.session()
    const found = projects.find(project => project.slug === slug)
    if (found) return found
    const hint = `The key can access: ${shortList(projects.map(({ slug }) => slug))}.`
    throw new Failure('missing', 'not_found', `There is no project "${slug}" that the key can access`, { hint })
  }
}

/** Calls a deployment. Throws a `Failure` if the URL or the key can't possibly be valid. */
function serviceOf({ url, key, project }: Login, bookmark: Bookmark, fetch?: Fetch): Service {
  if (!/^https?:\/\//.test(url) || !URL.canParse(url))
    throw invalid(`This isn't a URL: ${url}`, 'A URL must begin with https:// or http://.')
  const { username, password } = new URL(url)
  // `fetch` also rejects a URL with a user name or a password, but its error would show the whole URL.
  if (username || password) throw invalid("The URL can't contain a user name or a password")
  // A header can't contain these other characters.
  if (!/^[\x21-\x7e]+$/.test(key)) throw invalid("This isn't a key: it has spaces or other characters that no key has")
  return new Service({ baseUrl: url, apiKey: key, projectSlug: project, fetch, bookmark })
}

const MAX_LISTED = 10

const shortList = (names: readonly string[]): string =>
  names.slice(0, MAX_LISTED).join(', ') + (names.length > MAX_LISTED ? `, and ${names.length - MAX_LISTED} more` : '')
