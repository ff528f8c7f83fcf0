import { Input, NumberInput, SegmentedControl, TextInput } from '@mantine/core'
import type { FieldFaults } from '../parts/field-faults.ts'
import { count } from '../parts/format.ts'
import { whatIsSent } from './model-words.ts'
import type { NewExperimentDraft } from './use-new-experiment.ts'

/** Who runs the items, and how much the model may cost. */
export function RunnerFields({ form, faults }: { form: NewExperimentDraft; faults: FieldFaults }) {
  const { model, whyNoModel, isByModel, isPriced } = form
  return (
    <>
      <Input.Wrapper
        label="Run by"
        labelElement="div"
        description={
          isByModel && model
            ? whatIsSent(model, "each item's")
            : `Your own code runs the step on each item. The next page shows the command.${whyNoModel === null ? '' : ` The model can't run it. ${whyNoModel}`}`
        }
      >
        <SegmentedControl
          mt={4}
          size="xs"
          aria-label="Run by"
          value={isByModel ? 'model' : 'client'}
          onChange={chosen => form.setByModel(chosen === 'model')}
          data={[
            { value: 'client', label: 'Your code' },
            { value: 'model', label: 'The model', disabled: !model || whyNoModel !== null },
          ]}
        />
      </Input.Wrapper>
      {isByModel && model && (
        <>
          <TextInput
            label="Model"
            description={`Leave empty to use the configured model, or enter another model from the same provider. ${count(model.callsLeft)} of today's ${count(model.dailyLimit)} model calls ${model.callsLeft === 1 ? 'is' : 'are'} left. A run that needs more calls continues tomorrow.`}
            placeholder={model.name}
            maxLength={200}
            value={form.modelName}
            onChange={({ currentTarget }) => form.setModelName(currentTarget.value)}
            error={faults.of('model')}
          />
          <NumberInput
            label="Maximum cost in US dollars"
            description={
              isPriced
                ? 'Optional. If the next call could exceed this amount, the remaining items count as errors.'
                : "The cost can't be limited, because this model's price isn't known. ATTRIBUTION_INPUT_PRICE and ATTRIBUTION_OUTPUT_PRICE set the configured model's price."
            }
            disabled={!isPriced}
            min={0}
            decimalScale={4}
            hideControls
            value={isPriced ? form.maxCostUsd : ''}
            onChange={form.setMaxCostUsd}
            error={faults.of('maxCostUsd')}
          />
        </>
      )}
    </>
  )
}
