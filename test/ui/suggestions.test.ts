import * as v from 'valibot'
import { expectAccessible } from './accessibility.ts'
import { newOrganization } from './organization.ts'
import { answered } from './sample-project.ts'
import { serverUrl } from './server.ts'
import { expect, signIn, test } from './test.ts'

const Key = v.object({ key: v.string() })
const Span = v.object({ trace: v.object({ id: v.string() }), approvedOutput: v.unknown() })

const AGENT = { name: 'Review agent', projectSlug: 'support', scopes: ['read', 'review'], actsAs: 'agent' }
const SUGGESTED = { answer: 'The agent’s answer.' }

/** Creates an organization with a span for which an agent suggests a correction. */
async function withSuggestion() {
  const organization = await newOrganization()
  const { call, post, ownerKey } = organization
  const { span_id, events } = answered(0)
  await post(events)
  const { key } = v.parse(Key, await call('POST', '/api/api-keys', AGENT, ownerKey))
  const read = async () => v.parse(Span, await call('GET', `/api/spans/${span_id}`))
  const suggestion = {
    decision: 'correct',
    approvedOutput: SUGGESTED,
    comment: 'The doc says so.',
    errorType: 'context_misinterpretation',
  }
  await call('PUT', `/api/spans/${span_id}/review`, suggestion, key)
  return { ...organization, spanId: span_id, agentKey: key, read, ada: await organization.reviewer('Ada') }
}

for (const [place, at] of [
  ['inbox', (project: string) => `/review?project=${project}`],
  ['trace page', (project: string, spanId: string, id: string) => `/traces/${id}?span=${spanId}&project=${project}`],
] as const) {
  test(`a reviewer uses an agent's suggestion, and decides: ${place}`, async ({ page, context }) => {
    const { project, spanId, read, ada } = await withSuggestion()
    await signIn(context, ada.key)
    await page.goto(at(project.slug, spanId, (await read()).trace.id))
    const suggestions = page.getByRole('region', { name: 'Suggestions' })
    await expect(suggestions).toContainText('Review agent')
    await expect(suggestions).toContainText('suggests a correction')
    await expect(suggestions).toContainText('The doc says so.')
    await expect(suggestions).toContainText(SUGGESTED.answer)
    await expectAccessible(page)
    await suggestions.getByText('Use this').click()
    await expect(page.getByLabel('Reason')).toHaveValue('The doc says so.')
    expect((await read()).approvedOutput).toBe(null)
    await page.getByRole('button', { name: 'Save' }).click()
    await expect.poll(async () => (await read()).approvedOutput).toEqual(SUGGESTED)
  })
}

test('a new key acts as its scopes suggest, or as its creator chooses', async ({ page, context }) => {
  const { ownerKey, project } = await newOrganization()
  await signIn(context, ownerKey)
  await page.goto(`/settings/keys?project=${project.slug}`)
  await page.getByRole('button', { name: 'New key' }).click()
  const form = page.getByRole('dialog')
  const actsAs = form.getByRole('textbox', { name: 'Acts as' }).or(form.getByRole('combobox', { name: 'Acts as' }))
  await expect(actsAs).toHaveValue('A pipeline')
  await form.getByLabel('Name').fill('Agent')
  for (const scope of ['read', 'review']) await form.getByLabel(scope, { exact: true }).setChecked(true)
  await expect(actsAs).toHaveValue('A person')
  await actsAs.click()
  await page.getByRole('option', { name: 'An agent' }).click()
  await form.getByRole('button', { name: 'Create key' }).click()
  const secret = page.getByRole('dialog').filter({ hasText: 'Copy this key now' })
  await expect(secret).toContainText(`claude mcp add --transport http countersign ${serverUrl()}/mcp`)
  await expectAccessible(page)
  await page.getByRole('button', { name: "I've copied it" }).click()
  await expect(page.getByRole('row').filter({ hasText: 'cs_' }).filter({ hasText: 'An agent' })).toHaveCount(1)
})

test('an agent that signs in is told that its decisions are only suggestions', async ({ page, context }) => {
  const { project, agentKey } = await withSuggestion()
  await signIn(context, agentKey)
  await page.goto(`/review?project=${project.slug}`)
  await expect(page.getByRole('alert')).toContainText('only suggestions')
})
