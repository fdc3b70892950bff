package rest

import (
	"fmt"
	"mime"
	"net/http"
	"strings"

	"github.com/munnerz/goautoneg"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// output is the form in which a client wants its answer.
type output struct {
	info runtime.SerializerInfo
	// as is the kind of the answer: a Table, a PartialObjectMetadata or a
	// list of these; its Kind is "" for the object itself.
	as schema.GroupVersionKind
	// params are the parameters of the media type, such as the v, g and as of discovery.
	params map[string]string
	pretty bool
}

// negotiateOutput returns the first form of an Accept header that can be served. allows says of a form whether objects are served in it as another kind,
// or as they are: then the kind is empty.
// Upstream: apiserver handlers/negotiation NegotiateOutputMediaType, v1.37.
func negotiateOutput(r *http.Request, types []runtime.SerializerInfo, allows func(mediaType string, as schema.GroupVersionKind) bool) (output, error) {
	accept := r.Header.Get("Accept")
	if accept == "" {
		return output{info: types[0], pretty: isPretty(r, nil)}, nil
	}
	if info, ok := firstPlain(accept, types); ok && allows(info.MediaType, schema.GroupVersionKind{}) {
		return output{info: info, pretty: isPretty(r, nil)}, nil
	}
	for _, clause := range goautoneg.ParseAccept(accept) {
		for _, info := range types {
			if clause.Type != "*" && (clause.Type != info.MediaTypeType || clause.SubType != "*" && clause.SubType != info.MediaTypeSubType) {
				continue
			}
			as := schema.GroupVersionKind{Group: clause.Params["g"], Version: clause.Params["v"], Kind: clause.Params["as"]}
			stream := clause.Params["stream"]
			if !allows(info.MediaType, as) || stream != "" && (stream != "watch" || info.StreamSerializer == nil) {
				continue
			}
			return output{info: info, as: as, params: clause.Params, pretty: isPretty(r, clause.Params)}, nil
		}
	}
	return output{}, statusError(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable, "only the following media types are accepted: "+mediaTypes(types))
}

// firstPlain returns the form that an Accept header without any parameters names first, as
// most clients send it: then nothing has to be weighed.
func firstPlain(accept string, types []runtime.SerializerInfo) (runtime.SerializerInfo, bool) {
	if strings.Contains(accept, ";") {
		return runtime.SerializerInfo{}, false
	}
	first, _, _ := strings.Cut(accept, ",")
	for _, info := range types {
		if first == info.MediaType {
			return info, true
		}
	}
	return runtime.SerializerInfo{}, false
}

// allowsConversion reports whether objects are served as that kind, tables and metadata, or as they are: custom resources not as protobuf.
// Upstream: apiserver handlers RequestScope.AllowsMediaTypeTransform, v1.37, and pkg/registry for the subresources that can be tables.
func (c *call) allowsConversion(mediaType string, as schema.GroupVersionKind) bool {
	if as.Empty() {
		return c.kind.protobuf || mediaType != runtime.ContentTypeProtobuf
	}
	if gv := as.GroupVersion(); gv != metav1.SchemeGroupVersion && gv != metav1beta1.SchemeGroupVersion {
		return false
	}
	tables := c.t.sub == "" || c.t.sub == "status" || c.t.sub == "scale"
	return as.Kind == "Table" && tables && mediaType != runtime.ContentTypeProtobuf || as.Kind == "PartialObjectMetadata" ||
		as.Kind == "PartialObjectMetadataList"
}

// allowsNothing reports that nothing is served as another kind: errors, and questions to the server.
func allowsNothing(_ string, as schema.GroupVersionKind) bool { return as.Empty() }

// isPretty reports whether JSON is indented: for people.
// Upstream: apiserver handlers/negotiation isPrettyPrint, v1.37.
func isPretty(r *http.Request, params map[string]string) bool {
	if pretty := parameter(r, "pretty"); pretty != "" {
		return pretty == "true" || pretty == "1" || pretty == "t" || pretty == "T" || pretty == "TRUE" || pretty == "True"
	}
	agent := r.UserAgent()
	return params["pretty"] == "1" || strings.HasPrefix(agent, "curl") || strings.HasPrefix(agent, "Wget") || strings.HasPrefix(agent, "Mozilla/5.0")
}

// negotiateInput finds what reads the body of a request.
// Upstream: apiserver handlers/negotiation NegotiateInputSerializer, v1.37.
func negotiateInput(r *http.Request, types []runtime.SerializerInfo) (runtime.SerializerInfo, error) {
	contentType := r.Header.Get("Content-Type")
	if contentType == "" {
		return types[0], nil
	}
	if mediaType, _, err := mime.ParseMediaType(contentType); err == nil {
		if info, ok := runtime.SerializerInfoForMediaType(types, mediaType); ok {
			return info, nil
		}
	}
	return runtime.SerializerInfo{}, unsupportedMediaType(mediaTypes(mediaTypesOfKubernetes())) // also of custom resources, which have no protobuf
}

func unsupportedMediaType(accepted string) error {
	return statusError(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType,
		"the body of the request was in an unknown format - accepted media types include: "+accepted)
}

func mediaTypes(types []runtime.SerializerInfo) string {
	names := make([]string, len(types))
	for i, info := range types {
		names[i] = info.MediaType
	}
	return strings.Join(names, ", ")
}

// statusError returns a refusal in the server's form.
func statusError(code int32, reason metav1.StatusReason, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message,
	}}
}

func badRequest(format string, args ...any) error {
	return apierrors.NewBadRequest(fmt.Sprintf(format, args...))
}
