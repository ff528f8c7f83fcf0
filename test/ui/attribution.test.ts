import { randomUUID } from 'node:crypto'
import * as v from 'valibot'
import { answered, type SampleProject, STEP, sampleProject } from './sample-project.ts'
import { expect, signIn, test } from './test.ts'

let sample: SampleProject

/** Creates a trace with an engine's answer that the reviewer overrules. */
test.beforeAll(async () => {
  sample = await sampleProject()
  const { events, trace_id, span_id } = answered(40)
  const comment = {
    trace_id,
    rating: 'negative',
    comment: 'No.',
    labeller: { name: 'Noor', email: 'noor@example.com' },
  }
  await sample.post([...events, { type: 'feedback', body: { feedback_id: randomUUID(), ...comment } }])
  await sample.call('POST', `/api/v1/traces/${trace_id}/attribute`, {})
  await sample.call('PUT', `/api/spans/${span_id}/review`, { decision: 'accept', errorType: 'system_failure' })
})

test.beforeEach(({ context }) => signIn(context, sample.key))

const Answers = v.object({ answers: v.array(v.unknown()) })

test('every number links to the answers that it counts, and each answer to its span', async ({ page }) => {
  await page.goto(`/attribution?project=${sample.project.slug}`)
  await expect(page.getByRole('table', { name: 'Agreement by error type' })).toBeVisible()
  await expect(page.getByRole('img', { name: /^Agreement by confidence/ })).toBeVisible()
  await page.getByRole('radiogroup', { name: 'Calibration' }).getByText('Table').click()
  await expect(page.getByRole('table', { name: 'Agreement by confidence' })).toBeVisible()
  const links = await page.locator('main a[href^="/attribution/answers?"]').all()
  expect(links.length).toBeGreaterThan(6)
  for (const link of links) {
    const text = (await link.textContent()) ?? ''
    const { searchParams } = new URL((await link.getAttribute('href')) ?? '', 'http://localhost')
    const { project, ...filters } = Object.fromEntries(searchParams)
    const query = new URLSearchParams({ projectSlug: project ?? '', ...filters })
    const { answers } = v.parse(Answers, await sample.call('GET', `/api/attribution-quality/answers?${query}`))
    if (text.endsWith('%')) expect([text, answers.length > 0]).toEqual([text, true])
    else expect([String(searchParams), answers.length]).toEqual([String(searchParams), Number(text)])
  }

  await page.getByRole('link', { name: /that reviewers changed to System failure$/ }).click()
  await expect(page).toHaveURL(/reviewedErrorType=system_failure/)
  const rows = page.getByRole('table', { name: 'Compared answers' }).getByRole('row')
  await expect(rows).toHaveCount(2)
  await expect(page.getByText('1 answer', { exact: true })).toBeVisible()
  await rows.nth(1).getByRole('link', { name: STEP }).click()
  await expect(page).toHaveURL(/\/traces\/[^?]+\?.*span=/)
})

test('the answers can be filtered by one version of an engine, and the filter can be removed', async ({ page }) => {
  await page.goto(`/attribution?project=${sample.project.slug}`)
  await page.getByRole('link', { name: /^rules, version/ }).click()
  await expect(page).toHaveURL(/engine=rules&engineVersion=/)
  await page.getByRole('button', { name: 'Remove filter: Version' }).click()
  await page.getByRole('button', { name: 'Remove filter: Engine' }).click()
  await expect(page).not.toHaveURL(/engine/)
  await expect(page.getByRole('table', { name: 'Agreement by engine version' }).getByRole('row')).toHaveCount(2)
})

test('if a project has no reviewed answers, the page explains how to get some', async ({ page }) => {
  await page.goto(`/attribution?project=${sample.project.slug}&engine=another-model`)
  await expect(page.getByRole('heading', { name: 'Nothing to compare yet' })).toBeVisible()
})
