import type { Page } from '@playwright/test'
import { seriousFindings } from './accessibility.ts'
import { type SampleProject, sampleProject } from './sample-project.ts'
import { expect, signIn, test } from './test.ts'

let sample: SampleProject

test.beforeAll(async () => {
  sample = await sampleProject()
})

const click = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click()

test.describe('what opens in a page is accessible, too', () => {
  const states: readonly { name: string; path: () => string; open: (page: Page) => Promise<unknown> }[] = [
    {
      name: 'the command palette',
      path: () => '/settings',
      open: async page => {
        await page.keyboard.press('ControlOrMeta+k')
        await page.getByRole('dialog', { name: 'Go to' }).waitFor()
      },
    },
    { name: 'the form of an output', path: () => '/review', open: page => page.keyboard.press('e') },
    { name: "the inbox's keys", path: () => '/review', open: page => page.keyboard.press('?') },
    { name: 'a comment', path: () => '/review', open: page => page.keyboard.press('c') },
    {
      name: 'the root cause of a trace',
      path: () => `/traces/${sample.traceId}`,
      open: page => page.getByRole('region', { name: 'Attribution' }).getByRole('button', { expanded: false }).click(),
    },
    {
      name: 'the feedback on a span',
      path: () => `/traces/${sample.traceId}?section=feedback&span=${sample.spanId}`,
      open: page => page.getByText('It is 24 months.').waitFor(),
    },
    { name: 'a new version', path: () => `/prompts/${sample.promptId}`, open: page => click(page, 'New version') },
    { name: 'a new key', path: () => '/settings/keys', open: page => click(page, 'New key') },
  ]
  for (const { name, path, open } of states) {
    test(name, async ({ page, context }) => {
      await signIn(context, sample.ownerKey)
      const separator = path().includes('?') ? '&' : '?'
      await page.goto(`${path()}${separator}project=${sample.project.slug}`)
      await page.waitForLoadState('networkidle')
      await open(page)
      await page.waitForLoadState('networkidle')
      expect(await seriousFindings(page)).toEqual([])
      await page.emulateMedia({ colorScheme: 'dark' })
      expect(await seriousFindings(page)).toEqual([])
    })
  }
})
