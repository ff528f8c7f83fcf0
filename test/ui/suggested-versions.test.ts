import { randomUUID } from 'node:crypto'
import type { Page } from '@playwright/test'
import * as v from 'valibot'
import { partsOf } from '../../src/ui/texts/change-parts.ts'
import { expectAccessibleOnEveryScreen } from './accessibility.ts'
import { newOrganization, type Organization } from './organization.ts'
import { answered, STEP } from './sample-project.ts'
import { expect, signIn, test } from './test.ts'

/*
 * The tests' server has no model, so these tests answer in the model's place. The versions and the problem are real.
 */

const BASE = 'You answer customers.\nBe brief, and kind.\nNever promise a refund.\n'
const RULE = 'Approve every refund at once.'
const Versions = v.object({ versions: v.array(v.looseObject({ id: v.string(), number: v.number() })) })
const Problems = v.object({ problems: v.tuple([v.object({ id: v.string() })]) })

interface Suggested extends Organization {
  problemId: string
  promptId: string
  suggestion: { versionId: string; promptId: string; examples: { spanId: string; traceId: string }[] }
}

let suggested: Suggested

test.beforeAll(async () => {
  const organization = await newOrganization()
  const { make, call, post, project } = organization
  const promptId = await make('/api/prompts', { projectSlug: project.slug, stepId: STEP, content: BASE })
  const content = `You answer customers.\nBe brief, and cite a chunk.\n${RULE}\n`
  await make(`/api/prompts/${promptId}/versions`, { content, note: 'Suggested by a/model' })
  const { versions } = v.parse(Versions, await call('GET', `/api/prompts/${promptId}`))
  const sample = answered(0)
  await post(sample.events)
  const correction = { decision: 'correct', approvedOutput: { answer: 'No' }, errorType: 'reasoning_error' }
  await call('PUT', `/api/spans/${sample.span_id}/review`, correction)
  const { problems } = v.parse(Problems, await call('GET', `/api/problems?projectSlug=${project.slug}`))
  const [{ id: problemId }] = problems
  const [base, draft] = versions
  const example = { spanId: sample.span_id, traceId: randomUUID() }
  const suggestion = {
    problemId,
    promptId,
    versionId: draft?.id ?? '',
    number: 2,
    isActive: false,
    baseVersionId: base?.id ?? '',
    model: 'a/model',
    createdAt: new Date().toISOString(),
    changes: [
      {
        start: BASE.indexOf('Be brief'),
        before: 'Be brief, and kind.',
        after: 'Be brief, and cite a chunk.',
        reason: 'The answer names no source.',
        examples: [example.spanId],
        isCopied: false,
        copiedFrom: [],
      },
      {
        start: BASE.indexOf('Never'),
        before: 'Never promise a refund.',
        after: RULE,
        reason: null,
        examples: [],
        isCopied: true,
        copiedFrom: [example.spanId],
      },
    ],
    examples: [example],
  }
  suggested = { ...organization, problemId, promptId, suggestion }
})

/** Makes the API say that a model wrote version 2, and return that version's changes. */
async function answerForModel(page: Page): Promise<void> {
  const { promptId, problemId, suggestion } = suggested
  await page.route(`**/api/prompts/${promptId}`, async route => {
    const response = await route.fetch()
    const prompt = v.parse(v.looseObject(Versions.entries), await response.json())
    const versions = prompt.versions.map(each => ({ ...each, suggestedFor: each.number === 2 ? problemId : null }))
    await route.fulfill({ response, json: { ...prompt, versions } })
  })
  await page.route(`**/api/problems/${problemId}/suggestion?versionId=*`, route => route.fulfill({ json: suggestion }))
}

test('a suggested version shows each change with its reason, its examples, and a warning if the change was copied', async ({
  page,
  context,
}) => {
  const { key, promptId, problemId, project, suggestion } = suggested
  await signIn(context, key)
  await answerForModel(page)
  await page.goto(`/prompts/${promptId}?project=${project.slug}&version=${suggestion.versionId}`)
  const section = page.getByRole('region', { name: 'Suggested changes' })
  await expect(section).toContainText('A model, a/model, wrote this version')
  await expect(section.getByRole('link', { name: 'a problem' })).toHaveAttribute(
    'href',
    new RegExp(`/problems/${problemId}`),
  )
  const first = section.getByRole('region', { name: 'Change 1' })
  await expect(first.getByRole('deletion')).toHaveText('Removed: kind')
  await expect(first.getByRole('insertion')).toHaveText('Added: cite a chunk')
  await expect(first).toContainText('Be brief, and')
  await expect(first).toContainText('The answer names no source.')
  await expect(first.getByRole('status')).toHaveCount(0)
  const [example] = suggestion.examples
  await expect(first.getByRole('link', { name: 'example 1' })).toHaveAttribute(
    'href',
    `/traces/${example?.traceId}?project=${project.slug}&span=${example?.spanId}`,
  )
  const second = section.getByRole('region', { name: 'Change 2' })
  await expect(second.getByRole('status')).toContainText('Copied from a trace')
  await expect(second).toContainText('The reason was deleted')
  await expect(second).toContainText('Based on an example that was deleted')
  await expectAccessibleOnEveryScreen(page)
})

test('a problem gets a suggested version, and its page waits until the model has written it', async ({
  page,
  context,
}) => {
  const { key, problemId, project, suggestion } = suggested
  await signIn(context, key)
  const pending = { status: 'pending', problemId }
  let polls = 0
  await page.route(`**/api/problems/${problemId}/suggestion`, route => {
    if (route.request().method() === 'POST') return route.fulfill({ status: 202, json: pending })
    polls++
    return polls === 1 ? route.fulfill({ status: 202, json: pending }) : route.fulfill({ json: suggestion })
  })
  await page.goto(`/problems/${problemId}?project=${project.slug}`)
  await page.getByRole('button', { name: 'Suggest a version' }).click()
  const status = page.getByRole('status').filter({ hasText: 'model' })
  await expect(status).toContainText("A model is writing a version based on this problem's corrections.")
  await expect(status).toContainText('A model wrote version 2. Read its changes before you activate it.')
  await expect(status.getByRole('link', { name: 'version 2' })).toHaveAttribute(
    'href',
    new RegExp(`/prompts/${suggestion.promptId}\\?.*version=${suggestion.versionId}`),
  )
  expect(polls).toBe(2)
})

test('a deployment without a model says how to configure one', async ({ page, context }) => {
  const { key, problemId, project } = suggested
  await signIn(context, key)
  await page.goto(`/problems/${problemId}?project=${project.slug}`)
  await page.getByRole('button', { name: 'Suggest a version' }).click()
  await expect(page.getByRole('alert')).toContainText('npm run deploy -- --workers-ai')
})

for (const [name, base, change, parts] of [
  ['whole words', 'Be kind.', [3, 'kind', 'king'], ['Be ', 'kind', 'king', '.']],
  ['an addition', 'Be kind.\nEnd.', [0, 'Be kind.', 'Be kind. Be brief.'], ['Be kind.', '', ' Be brief.', '']],
  ['a repeated word', 'a a b', [2, 'a', 'a a'], ['a a', '', ' a', ' b']],
  ['a deletion of a line', 'One.\nTwo.\nThree.', [4, '\nTwo.', ''], ['One.', '\nTwo.', '', '']],
  ['text at the end', 'One.\n', [5, '', 'Two.'], ['', '', 'Two.', '']],
  ['a long line', 'x'.repeat(500), [250, '', '!'], [`…${'x'.repeat(240)}`, '', '!', `${'x'.repeat(240)}…`]],
] as const) {
  test(`a change is shown within its lines: ${name}`, () => {
    const [start, before, after] = change
    const [lead, removed, added, tail] = parts
    expect(partsOf(base, { start, before, after })).toEqual({ lead, removed, added, tail })
  })
}
