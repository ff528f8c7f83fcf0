import type { ConfiguredModel } from '../api/wire.ts'

type Model = NonNullable<ConfiguredModel['model']>

/** What's sent to the provider when the model runs an experiment. */
export const whatIsSent = ({ name }: Pick<Model, 'name'>, whose: "each item's" | "the item's"): string =>
  `${name} runs the step. Countersign sends the prompt and ${whose} input and state, unchanged, to ${providerOf(name)}. It doesn't send expected outputs or names.`

const PROVIDERS: Readonly<Record<string, string>> = {
  'workers-ai': 'Workers AI in your Cloudflare account',
  anthropic: 'Anthropic',
}

/** Who gets the prompts. `openai` may also be a compatible service. */
const providerOf = (name: string): string => PROVIDERS[name.slice(0, name.indexOf('/'))] ?? "the model's provider"
