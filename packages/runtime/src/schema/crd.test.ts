// A whole CRD, as it is printed and checked in.
import { expect, test } from "vitest";
import * as z from "zod";
import { crdOf, yamlDocuments } from "./crd.ts";
import { ageColumn, conditionColumn, defineCustomKind } from "./custom-kind.ts";

const kind = defineCustomKind({
  group: "example.com",
  kind: "Widget",
  scope: "Namespaced",
  shortNames: ["wd"],
  categories: ["keyturn"],
  versions: [
    {
      name: "v1",
      storage: true,
      description: "A widget.",
      spec: z.object({ size: z.int32().min(1).default(3).describe("How big it is: more is bigger."), on: z.enum(["yes", "no"]) }),
      status: z.object({ ready: z.boolean() }),
      columns: [conditionColumn("Ready"), { name: "Size", type: "integer", jsonPath: ".spec.size", priority: 1, description: "How big" }, ageColumn],
      rules: [{ rule: "size(self.metadata.name) < 40", message: "the name is too long" }],
      selectableFields: [".spec.on"],
    },
    {
      name: "v1alpha1",
      served: false,
      deprecationWarning: "use v1",
      spec: z.object({ colour: z.string() }).optional(),
      status: z.object({}),
      statusSubresource: false,
    },
  ],
});

test("a CRD with all that a kind can say", () => {
  expect(yamlDocuments([crdOf(kind, { labels: { app: "x" } })])).toMatchInlineSnapshot(`
    "apiVersion: apiextensions.k8s.io/v1
    kind: CustomResourceDefinition
    metadata:
      name: widgets.example.com
      labels:
        app: x
    spec:
      group: example.com
      names:
        kind: Widget
        listKind: WidgetList
        plural: widgets
        singular: widget
        shortNames:
        - wd
        categories:
        - keyturn
      scope: Namespaced
      versions:
      - name: v1
        served: true
        storage: true
        schema:
          openAPIV3Schema:
            description: A widget.
            type: object
            required:
            - spec
            properties:
              spec:
                type: object
                required:
                - "on"
                properties:
                  size:
                    description: "How big it is: more is bigger."
                    type: integer
                    format: int32
                    default: 3
                    minimum: 1
                    maximum: 2147483647
                  "on":
                    type: string
                    enum:
                    - "yes"
                    - "no"
              status:
                type: object
                required:
                - ready
                properties:
                  ready:
                    type: boolean
            x-kubernetes-validations:
            - rule: size(self.metadata.name) < 40
              message: the name is too long
        subresources:
          status: {}
        additionalPrinterColumns:
        - name: Ready
          type: string
          jsonPath: .status.conditions[?(@.type=="Ready")].status
        - name: Size
          type: integer
          description: How big
          jsonPath: .spec.size
          priority: 1
        - name: Age
          type: date
          jsonPath: .metadata.creationTimestamp
        selectableFields:
        - jsonPath: .spec.on
      - name: v1alpha1
        served: false
        storage: false
        deprecated: true
        deprecationWarning: use v1
        schema:
          openAPIV3Schema:
            type: object
            properties:
              spec:
                type: object
                required:
                - colour
                properties:
                  colour:
                    type: string
              status:
                type: object
    "
  `);
});

test("the same declaration gives the same text", () => {
  expect(yamlDocuments([crdOf(kind), crdOf(kind)])).toBe(`${yamlDocuments([crdOf(kind)])}---\n${yamlDocuments([crdOf(kind)])}`);
});

test("a column's path must be one", () => {
  const wrong = defineCustomKind({
    group: "example.com",
    kind: "Wrong",
    scope: "Cluster",
    versions: [{ name: "v1", spec: z.object({}), columns: [{ name: "A", type: "string", jsonPath: "spec.a" }] }],
  });
  expect(() => crdOf(wrong)).toThrow("column A: the JSON path spec.a must start with a dot");
});
