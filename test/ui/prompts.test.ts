import { randomUUID } from 'node:crypto'
import * as v from 'valibot'
import { expectAccessibleOnEveryScreen } from './accessibility.ts'
import { newOrganization } from './organization.ts'
import { expect, signIn, test } from './test.ts'

const Prompts = v.object({ prompts: v.tuple([v.object({ content: v.string() })]) })

test('a prompt gets a new version, and is rolled back to the previous one', async ({ page, context }) => {
  const { make, call, key, project } = await newOrganization()
  const promptId = await make('/api/prompts', {
    projectSlug: project.slug,
    stepId: 'answer',
    content: 'Answer kindly.',
  })
  const active = async () =>
    v.parse(Prompts, await call('GET', `/api/prompts?projectSlug=${project.slug}`)).prompts[0].content
  await signIn(context, key)
  await page.goto(`/prompts?project=${project.slug}`)
  const listed = page.getByRole('list', { name: 'Prompts' }).getByRole('link', { name: /answer/ })
  await expect(listed).toContainText(/v1 is live, created .+/)
  await listed.click()
  await expect(page).toHaveURL(new RegExp(`/prompts/${promptId}`))
  const versions = page.getByRole('navigation', { name: 'Versions' })
  await expect(versions.getByRole('link')).toHaveCount(1)

  await page.getByRole('button', { name: 'Try on one item' }).click()
  await expect(page.getByRole('dialog')).toContainText('No model is configured.')
  await page.keyboard.press('Escape')
  await expect(page.getByRole('dialog')).toHaveCount(0)

  await page.getByRole('button', { name: 'New version' }).click()
  const content = page.getByRole('textbox', { name: /Content|Prompt/ })
  await content.fill('Answer curtly.')
  await page.getByRole('button', { name: /Save|Add|Create/ }).click()
  await expect(versions.getByRole('link').filter({ hasText: 'Active' })).toContainText('Version 1')
  expect(await active()).toBe('Answer kindly.')
  await page.getByRole('button', { name: 'Activate version 2' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Activate version 2' }).click()
  await expect(versions.getByRole('link').filter({ hasText: 'Active' })).toContainText('Version 2')
  expect(await active()).toBe('Answer curtly.')

  await versions.getByRole('link', { name: /Version 1/ }).click()
  await page.getByRole('button', { name: 'Roll back to version 1' }).click()
  await expect(versions.getByRole('link').filter({ hasText: 'Active' })).toContainText('Version 1')
  expect(await active()).toBe('Answer kindly.')
})

const Found = v.object({ versions: v.array(v.object({ number: v.number(), isActive: v.boolean() })) })

test('a gate keeps a version from becoming active until a person overrides it with a reason', async ({
  page,
  context,
}) => {
  const { make, call, key, project } = await newOrganization()
  const promptId = await make('/api/prompts', { projectSlug: project.slug, stepId: 'answer', content: 'Kindly.' })
  const versionId = await make(`/api/prompts/${promptId}/versions`, { content: 'Curtly.' })
  await signIn(context, key)
  await page.goto(`/prompts/${promptId}?project=${project.slug}&version=${versionId}`)
  const gate = page.getByRole('region', { name: 'Gate' })
  await expect(gate).toContainText('This step has no gate')
  await gate.getByRole('button', { name: 'Set a gate' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Minimum pass rate').fill('90')
  await dialog.getByRole('button', { name: 'Save gate' }).click()
  await expect(gate).toContainText(
    'at least 10 judged items in the test split, a pass rate of at least 90%, and no regressions',
  )
  await expect(gate).toContainText("The gate isn't met")
  await expect(gate).toContainText('No experiment with this version counts toward the gate yet.')
  await expect(gate.getByRole('link', { name: 'Run an experiment' })).toHaveAttribute(
    'href',
    new RegExp(`/experiments/new\\?stepId=answer&promptVersionId=${versionId}`),
  )

  await page.getByRole('button', { name: 'Activate version 2' }).click()
  const regardless = dialog.getByRole('button', { name: 'Activate anyway' })
  await expect(regardless).toBeDisabled()
  await dialog.getByLabel('Reason for overriding the gate').fill('Production is down.')
  await regardless.click()
  await expect(page.getByText('Version 2 is now active.')).toBeVisible()
  expect(v.parse(Found, await call('GET', `/api/prompts/${promptId}`)).versions).toMatchObject([
    { number: 1, isActive: false },
    { number: 2, isActive: true },
  ])
  await page.goto(`/settings/audit-log?project=${project.slug}`)
  await expect(page.getByText('Gate overridden: Production is down.')).toBeVisible()

  await call('DELETE', `/api/prompts/${promptId}`)
  await page.goto(`/prompts?project=${project.slug}`)
  await page.getByRole('button', { name: 'New prompt' }).first().click()
  await dialog.getByLabel('Step').fill('answer')
  await dialog.getByRole('textbox', { name: 'Content' }).fill('Kindly.')
  await dialog.getByRole('button', { name: 'Create prompt' }).click()
  await dialog.getByLabel('Reason for overriding the gate').fill('A fresh start.')
  await dialog.getByRole('button', { name: 'Create prompt' }).click()
  await expect(page.getByRole('heading', { name: 'Version 1' })).toBeVisible()
})

test("a knowledge doc's title can be changed", async ({ page, context }) => {
  const { make, call, key, project } = await newOrganization()
  const docId = await make('/api/knowledge-docs', {
    projectSlug: project.slug,
    slug: 'warranty',
    title: 'Waranty',
    content: '24 months.',
  })
  await signIn(context, key)
  await page.goto(`/knowledge-docs/${docId}?project=${project.slug}`)
  await page.getByRole('button', { name: 'Edit title' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('textbox', { name: 'Title' }).fill('Warranty')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await expect(page.getByRole('heading', { level: 1, name: 'Warranty' })).toBeVisible()
  expect(await call('GET', `/api/knowledge-docs/${docId}`)).toMatchObject({ title: 'Warranty', slug: 'warranty' })
})

test.describe('on a phone', () => {
  test.use({ viewport: { width: 390, height: 844 } })

  test("a schema's long names don't wrap", async ({ page, context }) => {
    const { make, key, project } = await newOrganization()
    const promptId = await make('/api/prompts', {
      projectSlug: project.slug,
      stepId: 'answer',
      content: 'Answer kindly.',
      outputSchema: { type: 'object', additionalProperties: false },
    })
    await signIn(context, key)
    await page.goto(`/prompts/${promptId}?project=${project.slug}`)
    const schema = page.getByRole('region', { name: 'Output schema' })
    const height = async (name: string) => (await schema.getByText(name, { exact: true }).boundingBox())?.height
    expect(await height('additionalProperties:')).toBe(await height('type:'))
  })
})

test("a prompt's page compares the active version with the previous one, and each number links to its spans", async ({
  page,
  context,
}) => {
  const { make, call, post, key, project } = await newOrganization()
  const promptId = await make('/api/prompts', { projectSlug: project.slug, stepId: 'answer', content: 'Kindly.' })
  const Versions = v.object({ versions: v.array(v.object({ id: v.string(), isActive: v.boolean() })) })
  const decide = async (accepted: number, corrected: number) => {
    const { versions } = v.parse(Versions, await call('GET', `/api/prompts/${promptId}`))
    const active = versions.find(({ isActive }) => isActive)
    const made = Array.from({ length: accepted + corrected }, () => ({
      trace_id: `trace_${randomUUID()}`,
      span_id: randomUUID(),
    }))
    const timestamp = new Date().toISOString()
    await post(
      made.flatMap(({ trace_id, span_id }) => [
        { type: 'trace' as const, body: { trace_id, name: 'support', timestamp, status: 'completed' } },
        {
          type: 'span' as const,
          body: { trace_id, span_id, step_id: 'answer', timestamp, output: 'Yes', prompt_version_id: active?.id },
        },
      ]),
    )
    const reviews = made.map(({ span_id }, index) =>
      index < accepted
        ? { spanId: span_id, decision: 'accept' }
        : { spanId: span_id, decision: 'correct', approvedOutput: 'No' },
    )
    await call('POST', '/api/reviews', { reviews })
  }
  await decide(4, 16)
  await make(`/api/prompts/${promptId}/versions`, { content: 'Curtly.', activate: true })
  await decide(12, 0)
  await signIn(context, key)
  await page.goto(`/prompts/${promptId}?project=${project.slug}`)
  const watch = page.getByRole('region', { name: 'Watch' })
  await expect(watch).toContainText('Too early to tell: 12 of 20 decisions so far.')
  await decide(7, 1)
  await page.reload()
  await expect(watch).toContainText('Better: 95% of 20 outputs accepted, compared with 20% of 20 from version 1.')
  await expectAccessibleOnEveryScreen(page)
  const rows = page.getByRole('table', { name: 'Spans' }).getByRole('row')
  for (const [name, count] of [
    ['4 accepted, version 1', 4],
    ['20 decisions, version 1', 20],
    ['19 accepted, version 2', 19],
    ['20 decisions, version 2', 20],
  ] as const) {
    await watch.getByRole('link', { name }).click()
    await expect(rows).toHaveCount(count + 1)
    await page.goBack()
  }
})
