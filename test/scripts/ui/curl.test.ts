import { execFileSync } from 'node:child_process'
import { beforeEach, describe, it, vi } from 'vitest'
import { curlOf, curlOfRequest } from '../../../src/ui/parts/curl.ts'

const ORIGIN = 'http://localhost:8787'

beforeEach(() => {
  vi.stubGlobal('location', { origin: ORIGIN })
  return () => vi.unstubAllGlobals()
})

/** Runs a command in a shell in which `curl` prints its arguments, and returns those arguments. */
function wordsOf(command: string): string[] {
  const script = `curl() { printf '%s\\0' "$@"; }\n${command}\n`
  const env = { ...process.env, COUNTERSIGN_KEY: 'cs_key' }
  return execFileSync('sh', ['-c', script], { env, encoding: 'utf8' }).split('\0').slice(0, -1)
}

const bodyOf = (words: readonly string[]): unknown => JSON.parse(words[words.indexOf('-d') + 1] ?? '')

describe('curlOf', () => {
  it('takes the key from the environment', ({ expect }) => {
    expect(wordsOf(curlOf('/api/traces?projectSlug=support&limit=1'))).toEqual([
      `${ORIGIN}/api/traces?projectSlug=support&limit=1`,
      '-H',
      'Authorization: Bearer cs_key',
    ])
  })

  it('sends a body as JSON', ({ expect }) => {
    const words = wordsOf(curlOf('/api/projects', { method: 'POST', body: { slug: 'a', name: 'A' } }))
    expect(words.slice(0, 3)).toEqual(['-X', 'POST', `${ORIGIN}/api/projects`])
    expect(words).toContain('Content-Type: application/json')
    expect(bodyOf(words)).toEqual({ slug: 'a', name: 'A' })
  })

  it.for([
    [`it's`],
    [`'; touch /tmp/owned; '`],
    [`'$(exit 7)'`],
    [`\`exit 7\` $HOME \${HOME} $COUNTERSIGN_KEY`],
    ['\\'],
    [`\\'`],
    ['"quoted" \\"twice\\"'],
    ['two\nlines\r\n\ttab'],
    ['!! !$ # ~ * ? [a] {b} && || > < | &'],
    ['@/etc/passwd'],
    ['-d'],
    ['%s%n'],
    ['\u202egnp.exe \u200b\ufeff 🙂 陈'],
    ['\u0000\u001b[31m'],
    ['\ud800'],
    [''],
  ])('passes %j unchanged', ([text], { expect }) => {
    const body = { text, [`name ${text}`]: [text] }
    expect(bodyOf(wordsOf(curlOf('/api/v1/feedback', { method: 'POST', body })))).toEqual(body)
  })

  it.for([
    [`/api/traces?name='; exit 7; '`],
    ['/api/traces?name=$(exit 7)'],
    ['/api/traces?name=`exit 7`'],
    ['/api/a b'],
  ])('keeps %j as one word', ([path], { expect }) => {
    const words = wordsOf(curlOf(path ?? ''))
    expect(words).toHaveLength(3)
    expect(words[0]?.startsWith(`${ORIGIN}/api/`)).toBe(true)
  })

  it.for([[null], [false], [0], [''], [[]]] as [unknown][])('sends the body %j', ([body], { expect }) => {
    expect(bodyOf(wordsOf(curlOf('/api/x', { method: 'PUT', body })))).toEqual(body)
  })
})

describe('curlOfRequest', () => {
  it('makes the same request, with a variable in place of the key', ({ expect }) => {
    const headers = { Authorization: 'Bearer cs_secret', 'x-project-slug': "it's" }
    const command = curlOfRequest({ method: 'POST', path: '/api/v1/spans', headers, body: '{"a": "\'"}' })
    expect(command).not.toContain('cs_secret')
    expect(wordsOf(command)).toEqual([
      '-X',
      'POST',
      `${ORIGIN}/api/v1/spans`,
      '-H',
      'Authorization: Bearer cs_key',
      '-H',
      "x-project-slug: it's",
      '-d',
      '{"a": "\'"}',
    ])
  })
})
